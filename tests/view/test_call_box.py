import numpy as np
import pytest
from helpers.image_records import noise

from handaxe.core.images import Image
from handaxe.view.call_box import cut_box


def plates(seed=0, side=16, unit=20):
    """An image of large squares of random colours."""
    small = np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)
    return Image.of(small.repeat(unit, 0).repeat(unit, 1))


SOURCE = plates()
PART = SOURCE.crop((80, 40, 240, 160))
SHARES = (0.25, 0.125, 0.75, 0.5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"box": [80, 40, 240, 160]},
        {"box": [250, 125, 750, 500]},
        {"region": "2 1 6 4"},
        {"region": "[25, 12.5, 75, 50]"},
        {"name": "x", "box": (0.25, 0.125, 0.75, 0.5), "image": 1},
    ],
)
def test_the_unit_is_the_one_whose_part_looks_like_the_reply(arguments):
    found = cut_box(arguments, (SOURCE,), PART)
    assert found.image == SOURCE and found.box == pytest.approx(SHARES)
    assert cut_box(arguments, (SOURCE,), PART.resized(80)).box == pytest.approx(SHARES)


def test_the_image_is_the_named_one_or_the_one_that_fits():
    others = (noise(1, 320, 320), SOURCE, noise(2, 320, 320))
    assert cut_box({"box": [80, 40, 240, 160], "image": 2}, others, PART).image == SOURCE
    assert cut_box({"box": [80, 40, 240, 160]}, others, PART).image == SOURCE
    assert cut_box({"box": [80, 40, 240, 160], "image": 3}, others, PART) is None


@pytest.mark.parametrize(
    "arguments",
    [{}, {"box": [80, 40, 240]}, {"box": [240, 40, 80, 160]}, {"box": "80 40 240 x"}, {"box": [True, 0, 2, 2]}],
)
def test_arguments_without_a_box_give_none(arguments):
    assert cut_box(arguments, (SOURCE,), PART) is None


def test_a_reply_that_is_no_part_gives_none():
    assert cut_box({"box": [80, 40, 240, 160]}, (SOURCE,), plates(7)) is None
    assert cut_box({"box": [80, 40, 240, 160]}, (), PART) is None


def test_missing_bytes_give_none():
    def load():
        return b"not an image"

    gone = Image(320, 320, "0" * 64, load=load)
    assert cut_box({"box": [80, 40, 240, 160]}, (gone,), PART) is None


def test_thin_and_small_images_are_compared():
    thin = Image.of(np.arange(40, dtype=np.uint8).reshape(1, 40).repeat(3, 0))
    assert cut_box({"box": [0, 0, 20, 1]}, (thin,), thin.crop((0, 0, 20, 1))).box == pytest.approx((0, 0, 0.5, 1 / 3))
