import random

import numpy as np
import pytest

pytest.importorskip("skimage")
pytest.importorskip("PIL")

from handaxe.worlds.slides.scene import (  # noqa: E402
    PARTS,
    SHOWN,
    SIDE,
    STAINS,
    UNIT,
    Slide,
    Structure,
    _source,
    dice,
    draw_slide,
    segment_slide,
    slide_image,
    slide_overview,
)

SPLITS = ("train", "test")


def scenes(split, count=16):
    return [draw_slide(random.Random(k), split, ring=k % 2 == 0) for k in range(count)]


def test_a_scene_has_a_solid_red_structure_first_and_each_in_its_own_cell():
    for split in SPLITS:
        for number, slide in enumerate(scenes(split)):
            assert [one.stain for one in slide.structures] == ["red", "red", "blue", "violet"][number % 2 :]
            assert [one.solid for one in slide.structures] == [True, False, True, True][: 4 - number % 2] or number % 2
            assert len({one.cell for one in slide.structures}) == len(slide.structures)
            for one in slide.structures:
                left, top, right, bottom = (UNIT * side for side in one.cell)
                assert left <= one.box[0] < one.box[2] <= right and top <= one.box[1] < one.box[3] <= bottom


def test_no_part_of_an_image_is_in_both_splits():
    for slide in scenes("train", 40):
        assert slide.left + PARTS[slide.source] <= _source(slide.source).shape[1] // 2
    for slide in scenes("test", 40):
        assert slide.left >= _source(slide.source).shape[1] // 2
        assert slide.left + PARTS[slide.source] <= _source(slide.source).shape[1]


def test_a_mask_is_the_ellipse_of_a_loop_and_lies_in_its_box():
    one = Structure("red", 2, 4, 93, 160, 17, 21, True)
    mask = one.mask
    slow = np.zeros_like(mask)
    for y in range(mask.shape[0]):
        for x in range(mask.shape[1]):
            slow[y, x] = ((x - 93) / 17) ** 2 + ((y - 160) / 21) ** 2 <= 1
    assert (mask != slow).sum() <= 4, "up to rounding at the edge"
    ys, xs = np.nonzero(slow)
    assert one.box == (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1)
    ring = one._replace(solid=False).mask
    assert not ring[160, 93] and 0.55 < ring.sum() / mask.sum() < 0.72


def test_the_overview_has_the_darkest_pixel_of_each_unit():
    for slide in scenes("test", 3):
        pixels, shown = slide_image(slide).pixels, slide_overview(slide).pixels
        assert shown.shape == (SHOWN, SHOWN, 3)
        for row in range(SIDE):
            for column in range(SIDE):
                unit = pixels[UNIT * row : UNIT * (row + 1), UNIT * column : UNIT * (column + 1)].reshape(-1, 3)
                darkest = unit[unit.astype(int).sum(1).argmin()]
                assert (shown[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] == darkest).all()


def test_the_overview_shows_the_place_of_a_stain_and_not_a_ring():
    """The four units of a cell have nearly the stain, for a ring as for a solid structure."""
    for slide in scenes("test", 12):
        shown = slide_overview(slide).pixels[::4, ::4].astype(int)
        for one in slide.structures:
            units = shown[one.top : one.top + 2, one.left : one.left + 2].reshape(-1, 3)
            assert np.abs(units - np.array(STAINS[one.stain])).max() < 30


def test_the_tool_finds_the_red_structure_of_every_scene():
    for split in SPLITS:
        for slide in scenes(split):
            red = slide.structures[0]
            assert dice(red.mask, segment_slide(slide, red.cell).mask) >= 0.9


def test_dice_is_twice_the_common_pixels_over_both():
    left = np.array([[1, 1, 0, 0]], bool)
    assert dice(left, left) == 1 and dice(left, ~left) == 0 and dice(left & False, left & False) == 0
    assert dice(left, np.array([[0, 1, 1, 1]], bool)) == pytest.approx(2 / 5)


def test_equal_seeds_give_equal_scenes():
    assert scenes("train", 3) == scenes("train", 3)
    assert isinstance(scenes("train", 1)[0], Slide)
