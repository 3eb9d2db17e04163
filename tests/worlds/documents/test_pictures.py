import numpy as np
import pytest

pytest.importorskip("skimage")

from handaxe.core.errors import InputError  # noqa: E402
from handaxe.core.images import Image  # noqa: E402
from handaxe.core.records import ToolCall  # noqa: E402
from handaxe.testing.tools import check_tool  # noqa: E402
from handaxe.worlds.documents.pictures import PICTURE, article_picture, image_search  # noqa: E402

PICTURES = {number: article_picture(number, "train") for number in (1200, 3400, 5600)}
TOOL = image_search(PICTURES)


def find(pixels):
    return TOOL.run(ToolCall("image_search", {}, "c0"), images=(Image.of(pixels),)).content


def test_a_picture_depends_on_the_number_alone_and_has_contrast():
    assert (article_picture(1200, "train") == PICTURES[1200]).all()
    assert all(one.shape == (PICTURE, PICTURE, 3) and one.std() > 20 for one in PICTURES.values())


@pytest.mark.parametrize("number", PICTURES)
def test_image_search_finds_a_picture_at_another_size_and_in_other_colours(number):
    assert check_tool(TOOL, arguments={"image": 1}, images=(Image.of(PICTURES[number]),)).content == str(number)
    assert find(Image.of(PICTURES[number]).resized(32).pixels) == str(number)
    assert find((0.5 * PICTURES[number] + np.array([100, 20, 60])).astype(np.uint8)) == str(number)


def test_an_image_like_none_is_a_reply_and_no_error():
    assert find(np.full((32, 32, 3), 90, np.uint8)) == "nothing similar found"
    assert find(np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)) == "nothing similar found"


def test_no_picture_raises():
    with pytest.raises(InputError, match="one or more"):
        image_search({})
