"""README commands from a function and a table of questions to a model in use, in an empty folder."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SECTION = README.split("From a function and a table")[1].split("\n## ")[0]
COMMANDS = [
    shlex.split(line.replace("\\\n", " ")) for line in re.findall(r"^handaxe (?:.*\\\n)*.*", SECTION, re.MULTILINE)
]
SHORTER = {  # options that shorten commands: fewer steps and questions
    "start": ["--skill", "100", "--held-out", "40", "--json", "start.json", "--quiet"],
    "train": ["--steps", "4", "--held-out", "40", "--quiet"],
    "eval": ["--json", "eval.json"],
}
FETCH = """
import json, sys, transformers
made = transformers.AutoTokenizer.from_pretrained("exported", trust_remote_code=True)
model = transformers.AutoModelForCausalLM.from_pretrained("exported", trust_remote_code=True)
tools = json.load(open("exported/tools.json"))
chat = [{"role": "user", "content": "77 yd in in?"}]
read = made.apply_chat_template(chat, tools=tools, add_generation_prompt=True, return_tensors="pt", return_dict=True)
ids = model.generate(**read, do_sample=False, max_new_tokens=64)[0].tolist()
json.dump([read["input_ids"][0].tolist(), ids], open("transformers.json", "w"))
"""

pytestmark = [pytest.mark.slow, pytest.mark.hf]


def handaxe(words, folder, **options):
    env = {**os.environ, "HANDAXE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "handaxe", *words],
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder after the README's commands and an export."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("mine")
    for name in ("units.py", "units.csv"):
        shutil.copy(ROOT / "examples" / "units" / name, folder)
    for verb, *words in [*(words for _, *words in COMMANDS), ["export", "mine", "--out", "exported"]]:
        if verb in ("start", "train", "eval", "export"):
            done = handaxe([verb, *words, *SHORTER.get(verb, [])], folder)
            output, errors = done.communicate(timeout=600)
            assert done.returncode == 0, f"{verb}: {output[-2000:]} {errors[-2000:]}"
    return folder


def test_readme_has_each_command_once():
    assert [verb for _, verb, *_ in COMMANDS] == ["start", "train", "eval", "chat", "serve"]


def test_start_and_training_teach_tool_use(folder):
    start = json.loads((folder / "start.json").read_text())
    assert start["before"]["pass@1"] < 0.1 and start["before"]["calls"] < 0.5
    assert start["after"]["calls"] > 0.8
    found = json.loads((folder / "eval.json").read_text())
    assert found["metrics"]["calls"]["value"] > 0.8 and found["metrics"]["pass@1"]["value"] > 0.2


def test_chat_answers_in_the_terminal(folder):
    (words,) = [words for _, verb, *words in COMMANDS if verb == "chat"]
    done = handaxe(["chat", *words], folder)
    output, errors = done.communicate(timeout=100)
    assert "convert" in errors and output.strip(), (output, errors)


def test_transformers_and_chat_server_give_equal_ids_and_calls(folder):
    from handaxe.chat.use import use
    from handaxe.models.load import load

    sys.path.insert(0, str(folder))
    try:
        answer = use(str(folder / "mine"), [__import__("units").convert])("77 yd in in?")
    finally:
        sys.path.remove(str(folder))
    ids = answer.trajectory.sequences[0].ids.tolist()
    subprocess.run([sys.executable, "-c", FETCH], cwd=folder, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    prompt, generated = json.loads((folder / "transformers.json").read_text())
    turn = answer.trajectory.turns[0]
    assert prompt == ids[: turn.start] and generated == ids[: turn.stop]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (words,) = [words for _, verb, *words in COMMANDS if verb == "serve"]
    server = handaxe(["serve", *words, "--port", str(port)], folder)
    try:
        reply = _ask(server, port, json.loads((folder / "exported" / "tools.json").read_text()))
    finally:
        server.terminate()
        server.communicate(timeout=30)
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "convert"
    assert json.loads(call["function"]["arguments"]) == answer.calls[0].arguments
    parsed = load(str(folder / "mine")).format.parse(ids[turn.start : turn.stop], answer.trajectory.tools)
    assert [one.arguments for one in parsed.calls] == [answer.calls[0].arguments]


def _ask(server, port, tools):
    body = {"messages": [{"role": "user", "content": "77 yd in in?"}], "tools": tools, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    for _ in range(300):
        assert server.poll() is None, server.communicate()
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)
        except OSError:
            time.sleep(0.2)
    raise AssertionError("no reply of the server")
