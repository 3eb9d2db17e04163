import sys

import numpy as np
import pytest

pytest.importorskip("zxingcpp")
segno = pytest.importorskip("segno")

from handaxe.core.errors import InputError  # noqa: E402
from handaxe.core.images import Image  # noqa: E402
from handaxe.core.records import ToolCall  # noqa: E402
from handaxe.testing.tools import check_tool  # noqa: E402
from handaxe.tools.read_code import decode_codes, read_code  # noqa: E402


def code(text, micro=False):
    made = segno.make(text, micro=micro)
    dark = np.array([list(row) for row in made.matrix_iter(scale=3, border=4)], bool)
    return np.where(dark, 0, 255).astype(np.uint8)


LEFT, RIGHT = code("article 4711"), code("80", micro=True)
BOTH = np.full((LEFT.shape[0], LEFT.shape[1] + RIGHT.shape[1]), 255, np.uint8)
BOTH[:, : LEFT.shape[1]] = LEFT
BOTH[: len(RIGHT), LEFT.shape[1] :] = RIGHT
IMAGE, BLANK = Image.of(BOTH), Image.of(np.full((40, 40, 3), 200, np.uint8))


def read(tool=None, images=(IMAGE, BLANK), **arguments):
    return (tool or read_code()).run(ToolCall("read_code", arguments, "c0"), images=images)


def test_read_code_lists_the_content_of_every_code():
    reply = check_tool(read_code(), arguments={"image": 1}, images=(IMAGE,))
    assert sorted(reply.content.splitlines()) == ["80", "article 4711"]


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_code_at_any_angle_is_read(turns):
    assert decode_codes(Image.of(np.rot90(LEFT, turns).copy())) == ("article 4711",)


def test_a_box_restricts_the_codes():
    assert read(box=[0, 0, LEFT.shape[1], IMAGE.height]).content == "article 4711"
    left = round(1000 * LEFT.shape[1] / IMAGE.width)
    assert read(read_code(unit="per_mille"), box=[left, 0, 1000, 1000]).content == "80"


def test_an_image_without_a_code_is_a_reply_and_no_error():
    reply = read(image=2)
    assert (reply.status, reply.content) == ("ok", "no code found")
    assert read(images=(Image.of(np.zeros((1, 1, 3), np.uint8)),)).content == "no code found"


def test_bad_boxes_and_unknown_images_are_retries():
    assert "is empty or not inside the image" in read(box=[5, 0, 5, 5]).content
    assert "has 3 by 9 pixels: give a larger" in read(box=[0, 0, 3, 9]).content
    assert read(image=3).content == "there is no image 3: 2 images were shown"


def test_bad_arguments_and_a_missing_extra_raise(monkeypatch):
    for wrong in ({"unit": "percent"}, {"smallest": 0}):
        with pytest.raises(InputError, match="give"):
            read_code(**wrong)
    assert read_code(prefix="label_", cost=2.0).schema.name == "label_read_code"
    monkeypatch.setitem(sys.modules, "zxingcpp", None)
    with pytest.raises(InputError, match=r"handaxe\[vision\]"):
        read_code()


def test_without_boxes_the_image_is_the_only_parameter():
    tool = read_code(boxes=False)
    assert set(tool.schema.parameters["properties"]) == {"image"}
    assert read(tool, image=1).content == read(image=1).content
