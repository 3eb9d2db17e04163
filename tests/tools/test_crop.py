import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import ToolCall
from handaxe.testing.tools import check_tool
from handaxe.tools.crop import crop

PIXELS = np.random.default_rng(0).integers(0, 256, (20, 40, 3), np.uint8)
IMAGE, OTHER = Image.of(PIXELS), Image.of(PIXELS[::-1].copy())


def cut(tool, box, images=(IMAGE, OTHER), **arguments):
    return tool.run(ToolCall("crop", {"box": box, **arguments}, "c0"), images=images)


def test_crop_keeps_the_contract_and_the_original_pixels():
    reply = check_tool(crop(), arguments={"box": [10, 5, 20, 12]}, images=(IMAGE,))
    assert reply.images == (Image.of(PIXELS[5:12, 10:20]),)
    assert cut(crop(), [0, 0, 40, 20], image=2).images == (OTHER,)


def test_longest_side_of_the_result():
    (image,) = cut(crop(longest=32), [0, 0, 10, 20]).images
    assert (image.width, image.height) == (16, 32)


def test_per_mille_boxes_cover_whole_pixels():
    tool = crop(unit="per_mille")
    assert cut(tool, [500, 0, 1000, 500]).images == (Image.of(PIXELS[:10, 20:]),)
    assert cut(tool, [1, 1, 2, 2]).images == (Image.of(PIXELS[:1, :1]),)
    assert "0 to 1000" in str(tool.schema.parameters)
    assert "of 1000 by 1000" in cut(tool, [0, 0, 1001, 5]).content


@pytest.mark.parametrize("box", [[0, 0, 0, 5], [5, 0, 4, 5], [-1, 0, 4, 5], [0, 0, 41, 5], [0, 15, 5, 21]])
def test_empty_and_outside_boxes_are_retries(box):
    reply = cut(crop(), box)
    assert reply.status == "retry" and not reply.images
    assert reply.content == (
        f"the box {box} is empty or not inside the image of 40 by 20: give left < right and top < bottom"
    )


def test_small_and_narrow_boxes_and_unknown_images_are_retries():
    assert "has 3 by 9 pixels: give a larger" in cut(crop(smallest=4), [0, 0, 3, 9]).content
    wide = Image.of(np.zeros((2, 300, 3), np.uint8))
    assert "has 300 by 2 pixels: give a larger or less narrow" in cut(crop(), [0, 0, 300, 2], (wide,)).content
    assert cut(crop(), [0, 0, 5, 5], image=3).content == "there is no image 3: 2 images were shown"
    assert cut(crop(), [0, 0, 5]).status == cut(crop(), ["a", 0, 5, 5]).status == "invalid"


def test_numbers_out_of_range_raise():
    for wrong in ({"unit": "percent"}, {"longest": 0}, {"smallest": 0}):
        with pytest.raises(InputError, match="give"):
            crop(**wrong)
    assert crop(prefix="photo_", cost=2.0).schema.name == "photo_crop"
