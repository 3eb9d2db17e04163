import base64
import io
import json
import subprocess
import sys
from pathlib import Path

import mcp_types as types
import numpy as np
import pytest
from PIL import Image as Pillow

from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.crop import crop
from handaxe.tools.mcp import mcp
from handaxe.tools.mcp_content import read_content, write_content

SERVERS = Path(__file__).with_name("servers")
PIXELS = np.random.default_rng(0).integers(0, 256, (8, 9, 3), np.uint8)
IMAGE = Image.of(PIXELS)


def encoded(kind="PNG", size=None):
    out = io.BytesIO()
    image = Pillow.fromarray(PIXELS) if size is None else Pillow.new("1", size)
    image.save(out, kind)
    return base64.b64encode(out.getvalue()).decode()


def text(words):
    return {"type": "text", "text": words}


def image(data, kind="image/png"):
    return {"type": "image", "data": data, "mimeType": kind}


def resource(kind, **content):
    return {"type": "resource", "resource": {"uri": "file:///a.png", "mimeType": kind, **content}}


def result(*parts, **more):
    return types.CallToolResult.model_validate({"content": list(parts), **more})


def read(*parts, most=8):
    return read_content(result(*parts), max_images=most)


def test_texts_stay_texts_and_other_parts_are_named():
    uri = "file:///a/very/long/name" + "x" * 1000
    audio = {"type": "audio", "data": "QUJD", "mimeType": "audio/wav"}
    link = {"type": "resource_link", "uri": uri, "name": "n"}
    lines = read(text("one\n"), audio, link, resource("text/plain", text="hidden"), text("two")).split("\n")
    assert lines[:3] == ["one", "", "[audio/wav, 3 bytes]"]
    assert lines[3].startswith("[resource file:///a/very/long/namexx") and len(lines[3]) < 320
    assert lines[4:] == ["[text/plain file:///a.png]", "two"]
    assert read_content(result(structuredContent={"a": "\u00e9"}), max_images=8) == '{"a": "\u00e9"}'
    assert read_content(result(text("x"), structuredContent={"a": 1}), max_images=8) == "x" and read() == ""


def test_images_and_resources_of_an_image_kind_are_read():
    parts = read(text("a"), image(encoded()), image(encoded("BMP"), "image/png"), resource("image/gif", blob=encoded()))
    assert parts == ["a", "\n", IMAGE, "\n", IMAGE, "\n", IMAGE]
    assert read(image(encoded())) == [IMAGE]
    named = read(image(encoded()), image(encoded()), most=1)
    size = len(encoded()) * 3 // 4
    assert named == [IMAGE, "\n", f"[image/png, {size} bytes]"]
    assert read(image(encoded()), most=0) == f"[image/png, {size} bytes]"


def test_images_that_cannot_be_read_are_named_with_kind_and_size():
    svg = base64.b64encode(b"<svg/>").decode()
    found = read(
        image("!!!!"),
        image(encoded()[:200]),
        image(encoded(size=(20_000, 4))),
        image(svg, "image/svg+xml"),
        resource("image/png", blob="QUJD"),
        image("A" * 30_000_000),
        image(encoded(), "x" * 1000),
        most=9,
    )
    assert isinstance(found, list) and found.pop() == IMAGE  # the kind that a server names means nothing
    lines = "".join(found).strip().split("\n")
    assert lines[0] == "[image/png, 3 bytes, damaged base64]"
    assert lines[1].startswith("[image/png, 150 bytes, not shown: the image is damaged or truncated")
    assert "not shown: the image is 20000 by 4 pixels" in lines[2]
    assert lines[3].startswith("[image/svg+xml, 6 bytes, not shown: the image is not an image that can be read")
    assert lines[4].startswith("[image/png file:///a.png, 3 bytes, not shown: ")
    assert lines[5] == "[image/png, 22500000 bytes, not shown: more than 20000000 bytes]"


def test_texts_and_images_are_written_as_parts():
    parts = write_content(["a", IMAGE])
    assert parts[0] == types.TextContent(type="text", text="a") and parts[1].mime_type == "image/png"
    assert read_content(types.CallToolResult(content=parts), max_images=8) == ["a", "\n", IMAGE]


# --- real servers ----------------------------------------------------------------------------------------------


def served(tmp_path, *parts, **options):
    path = tmp_path / "content.json"
    path.write_text(json.dumps(list(parts)))
    return mcp(command=[sys.executable, str(SERVERS / "raw.py"), "content", str(path)], **options)


def step(env, name, **arguments):
    return env.step(ParsedTurn("", (ToolCall(name, arguments, "c0"),)), seed=0)


def test_image_of_a_server_reaches_the_policy_and_the_tools(tmp_path):
    factory = served(tmp_path, text("a page"), image(encoded()), image("!!!!"))
    env = tool_chat([factory, crop()])(Task("t", (Message("user", "?"),)))
    try:
        (message,) = step(env, "plain").messages
        assert message.content == f"a page\n{PLACEHOLDER}\n[image/png, 3 bytes, damaged base64]"
        assert message.images == (IMAGE,)
        assert step(env, "crop", box=[1, 2, 5, 6]).messages[0].images == (IMAGE.crop((1, 2, 5, 6)),)
    finally:
        env.close()


def test_images_of_an_error_are_named_and_the_number_of_images_is_limited(tmp_path):
    factory = served(tmp_path, *[image(encoded())] * 3, max_images=2)
    tools = factory()
    try:
        reply = tools[0].run(ToolCall("plain", {}, "c0"))
        size = len(encoded()) * 3 // 4
        assert reply.images == (IMAGE, IMAGE)
        assert reply.content == f"{PLACEHOLDER}\n{PLACEHOLDER}\n[image/png, {size} bytes]"
    finally:
        tools[0].owner.close()


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_images_go_there_and_back(transport, tmp_path):
    command = [sys.executable, str(SERVERS / "images.py")]
    process = None
    if transport == "http":
        process = subprocess.Popen([*command, "0"], stderr=subprocess.PIPE, text=True)
        line = next(line for line in process.stderr if "serving" in line)
        factory = mcp(url=line.split(" at ")[1].strip())
    else:
        factory = mcp(command=command)
    tools = factory()
    try:
        reply = tools[0].run(ToolCall("draw", {"seed": 3}, "c0"))
        first, second = (np.random.default_rng(3 + k).integers(0, 256, (8, 9, 3), np.uint8) for k in (0, 1))
        assert (reply.status, reply.images) == ("ok", (Image.of(first), Image.of(second)))
        assert reply.content == f"before\n{PLACEHOLDER}\n{PLACEHOLDER}\nafter"
        refused = tools[0].run(ToolCall("draw", {"seed": -1}, "c1"))
        assert (refused.status, refused.content, refused.images) == ("retry", "a seed is 0 or more", ())
    finally:
        tools[0].owner.close()
        if process is not None:
            process.kill()
            process.wait()
            process.stderr.close()
