import random

import numpy as np
import pytest

pytest.importorskip("skimage")
pytest.importorskip("PIL")

from skimage import data  # noqa: E402

from handaxe.worlds.spatial.scene import (  # noqa: E402
    FOCAL,
    LENGTH,
    MARKS,
    PART,
    SHOWN,
    SIDE,
    UNIT,
    SceneView,
    _pair,
    depth_at,
    draw_view,
    scene_overview,
    view_image,
)


def views(split, count=12):
    return [draw_view(random.Random(k), split) for k in range(count)]


def test_marks_have_different_cells_and_known_depths_and_splits_share_no_row():
    height, width = data.stereo_motorcycle()[0].shape[:2]
    for split in ("train", "test"):
        for view in views(split, 40):
            assert [mark.colour for mark in view.marks] == list(MARKS)
            assert len({mark.box for mark in view.marks}) == len(MARKS)
            assert all(0 <= side <= SIDE for mark in view.marks for side in mark.box)
            assert all(150 < depth_at(view, *mark.centre) < 600 for mark in view.marks)
            assert 0 <= view.left <= width - PART and 0 <= view.top <= height - PART
            assert view.top + PART <= height // 2 if split == "train" else view.top >= height // 2


def test_depth_is_that_of_the_disparity():
    """193.001 mm * 994.978 / (disparity + 31.086), in cm; a unit has 16 pixels of the photograph."""
    disparity = data.stereo_motorcycle()[2]
    view = SceneView(11, 60, ())
    assert view.left == 311 - 16 * 11 == 135 and round(994.978 / 16) == FOCAL
    for x, y in ((1, 1), (3, 5), (4.5, 2)):
        value = disparity[60 + int(16 * y), 135 + int(16 * x)]
        assert depth_at(view, x, y) == round(193.001 * 994.978 / (float(value) + 31.086) / 10)
    places = [(middle, top) for middle in range(-18, 20) for top in range(0, 372, 4)]
    gaps = [one for one in places if not np.isfinite(disparity[one[1] + 16, 311 - 16 * one[0] + 16])]
    assert gaps and depth_at(SceneView(*gaps[0], ()), 1, 1) is None


def test_the_middle_of_the_camera_is_that_of_the_calibration():
    """A point of the photograph's column 311.193 has x = 0, to half a pixel."""
    for view in views("test"):
        assert abs((view.left + 16 * view.middle) - 311.193) < 0.5


def test_the_disparity_is_true_for_the_pair():
    """A pixel of the left photograph has nearly the colour of the pixel at its disparity in the right one."""
    left, right, disparity = data.stereo_motorcycle()
    rng, own, other = np.random.default_rng(0), [], []
    for _ in range(400):
        y, x = rng.integers(0, 500), rng.integers(80, 741)
        if np.isfinite(disparity[y, x]):
            own.append(np.abs(left[y, x].astype(float) - right[y, int(round(x - disparity[y, x]))]).mean())
            other.append(np.abs(left[y, x].astype(float) - right[y, x]).mean())
    assert np.median(own) < 0.6 * np.median(other)


def test_the_overview_has_the_means_of_blocks_and_shows_the_marks():
    view = views("test", 1)[0]
    pixels = view_image(view).pixels
    means = pixels.reshape(SIDE, UNIT, SIDE, UNIT, 3).mean((1, 3))
    shown = scene_overview(view).pixels
    assert shown.shape == (SHOWN, SHOWN, 3) and np.abs(shown[::4, ::4].astype(float) - means).max() < 1
    for mark in view.marks:
        x, y = (UNIT * side for side in mark.centre)
        assert tuple(pixels[y, x]) == MARKS[mark.colour] and pixels.shape == (LENGTH, LENGTH, 3)
    assert _pair().pixels.shape == (500, 741, 3)
