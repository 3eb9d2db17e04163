import json
import random
import subprocess
import sys

import numpy as np
import pytest

from handaxe.worlds.plates.scene import (
    BACKGROUND,
    COLOURS,
    PLATES,
    SHOWN,
    SIDE,
    UNIT,
    Plate,
    canvas,
    draw_plates,
    handwriting,
    overview,
)

pytest.importorskip("sklearn")
pytest.importorskip("PIL")
from sklearn.datasets import load_digits  # noqa: E402

SPLITS = ("train", "test")


def scenes(split, count=30):
    return [tuple(draw_plates(random.Random(k), split)) for k in range(count)]


def test_a_scene_has_a_red_plate_first_and_no_colour_or_cell_twice():
    for split in SPLITS:
        for scene in scenes(split):
            assert scene[0].colour == "red" and len({plate.colour for plate in scene}) == len(scene) == PLATES
            assert len({plate.box for plate in scene}) == PLATES
            assert all(0 <= side <= SIDE and side % 2 == 0 for plate in scene for side in plate.box)


def test_no_handwriting_is_in_both_splits():
    """By content: of two digits with equal pixels both are in one split."""
    images = load_digits().images
    own = {split: [index for one in handwriting(split).values() for index in one] for split in SPLITS}
    pixels = {split: {images[index].tobytes() for index in own[split]} for split in SPLITS}
    assert not pixels["train"] & pixels["test"] and len(own["train"]) + len(own["test"]) == 1797
    assert 0.15 < len(own["test"]) / 1797 < 0.25
    for split in SPLITS:
        drawn = {index for scene in scenes(split) for plate in scene for index in plate.digits}
        assert drawn <= set(own[split])


def test_the_number_of_a_plate_is_that_of_its_handwriting():
    labels = load_digits().target
    for scene in scenes("test"):
        for plate in scene:
            assert plate.number == f"{labels[plate.digits[0]]}{labels[plate.digits[1]]}"
    assert all(labels[index] == digit for digit, found in handwriting("train").items() for index in found)


def test_canvas_equals_a_slow_loop():
    digits = load_digits().images
    (scene,) = scenes("train", 1)
    want = np.full((256, 256, 3), float(BACKGROUND))
    for plate in scene:
        for y in range(64):
            for x in range(64):
                share = 1.0
                for number in range(2):
                    top, left = 20 + plate.shifts[2 * number], 6 + 28 * number + plate.shifts[2 * number + 1]
                    row, column = (y - top) // 3, (x - left) // 3
                    if 0 <= row < 8 and 0 <= column < 8:
                        share *= 1 - 0.95 * digits[plate.digits[number]][row, column] / 16
                for channel in range(3):
                    value = np.floor(share * COLOURS[plate.colour][channel] + 0.5)
                    want[plate.top * UNIT + y, plate.left * UNIT + x, channel] = value
    assert np.abs(canvas(scene).pixels - want).max() <= 1  # float32


def test_overview_has_the_mean_colour_of_each_unit():
    for scene in scenes("test", 8):
        seen, full = overview(scene), canvas(scene).pixels.astype(float)
        assert (seen.width, seen.height) == (SHOWN, SHOWN)
        for row in range(SHOWN):
            for column in range(SHOWN):
                y, x = UNIT * (row // 4), UNIT * (column // 4)
                mean = full[y : y + UNIT, x : x + UNIT].mean((0, 1))
                assert np.abs(seen.pixels[row, column] - mean).max() <= 1


def part_of(scene, plate, seen):
    """Pixels of a plate in a zoom, in an overview, or in a canvas of 32 by 32 true pixels."""
    left, top, right, bottom = plate.box
    if seen == "zoom":  # of equal places, since the reader compares pixel by pixel
        whole = canvas((plate._replace(shifts=(0, 0, 0, 0)),))
        return whole.crop((UNIT * left, UNIT * top, UNIT * right, UNIT * bottom), longest=SHOWN).pixels
    whole = overview(scene) if seen == "overview" else canvas(scene).resized(SHOWN)
    return whole.pixels[4 * top : 4 * bottom, 4 * left : 4 * right]


@pytest.mark.parametrize("seen, least, most", [("zoom", 0.6, 1.0), ("overview", 0.0, 0.06), ("true pixels", 0.1, 0.6)])
def test_numbers_are_unreadable_in_an_overview_and_readable_in_a_zoom(seen, least, most):
    """A nearest-neighbour reader of 2,000 training plates."""

    def parts(split, count):
        found = [(scene, plate) for scene in scenes(split, count) for plate in scene]
        light = [part_of(scene, plate, seen) / np.array(COLOURS[plate.colour]) for scene, plate in found]
        return np.stack([one.mean(2).ravel() for one in light]), np.array([plate.number for _, plate in found])

    known, numbers = parts("train", 400)
    asked, answers = parts("test", 60)
    nearest = (-2 * asked @ known.T + (known**2).sum(1)).argmin(1)
    assert least <= (numbers[nearest] == answers).mean() <= most


def test_a_scene_survives_json():
    for plate in scenes("train", 1)[0]:
        colour, left, top, digits, shifts = json.loads(json.dumps(list(plate)))
        assert Plate(colour, left, top, tuple(digits), tuple(shifts)) == plate


def test_a_missing_scikit_learn_is_named_with_its_extra():
    code = """
import sys
sys.modules["sklearn"] = None
from handaxe.core.errors import InputError
from handaxe.worlds.plates.world import plates
try:
    plates().tasks("train", 1, 0)
except InputError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("the world plates draws handwriting of scikit-learn, which is missing: ")
    assert said.strip().endswith('pip install "handaxe[plates]"') and said.count("\n") == 1


def test_a_missing_pillow_is_named_before_the_first_rollout():
    code = """
import sys
sys.modules["PIL"] = None
from handaxe.core.errors import InputError
from handaxe.worlds.plates.world import plates
try:
    plates().tasks("train", 1, 0)
except InputError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Pillow" in said and "pip install" in said and said.count("\n") == 1
