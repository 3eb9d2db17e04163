import numpy as np
import pytest

from handaxe.worlds.canvas.drawing import BACKGROUND, COLOURS, Item, draw_program, paint_items
from handaxe.worlds.canvas.edit_features import (
    EDIT_SIZE,
    PICTURE_SIZE,
    REQUEST_SIZE,
    SHARES,
    edit_row,
    palette_shares,
    picture_features,
    request_features,
)
from handaxe.worlds.canvas.edits import EditRequest

pytest.importorskip("PIL")
BEFORE = (Item("red", "square", 2, 4), Item("green", "square", 6, 6))
DYE = EditRequest("dye", "dye 2 4 blue", BEFORE, "dye 2 4 green", (2, 4), "blue")


def test_palette_shares_of_known_pixels():
    pixels = np.array([[BACKGROUND, COLOURS["red"]], [(0, 255, 255), COLOURS["red"]]], np.uint8)
    found = palette_shares(pixels)
    assert found[0] == 0.25 and found[1 + list(COLOURS).index("red")] == 0.5 and found[-1] == 0.25
    assert found.sum() == pytest.approx(1)


def test_palette_shares_equal_a_loop_over_pixels():
    pixels = np.random.default_rng(0).integers(256, size=(4, 5, 3)).astype(np.uint8)
    pixels[0, 0] = COLOURS["blue"]
    found = np.zeros(SHARES)
    for one in pixels.reshape(-1, 3).astype(float):
        far = [float(np.linalg.norm(one - np.array(known))) for known in (BACKGROUND, *COLOURS.values())]
        found[far.index(min(far)) if min(far) <= 40 else SHARES - 1] += 1 / 20
    np.testing.assert_allclose(palette_shares(pixels), found, atol=1e-9)


def test_features_see_the_requested_cell():
    image = paint_items(draw_program(DYE.words, BEFORE), 32)
    own, blue = request_features(image, DYE), 1 + list(COLOURS).index("blue")
    assert len(own) == REQUEST_SIZE and own[blue] > 0.9 and own[SHARES + blue] == 0
    picture = picture_features(image, DYE)
    assert len(picture) == PICTURE_SIZE and picture[blue] > 0 == picture[SHARES + blue]
    same = picture_features(paint_items(BEFORE, 32), DYE)
    np.testing.assert_array_equal(same[:SHARES], same[SHARES:])


def test_a_row_has_the_picture_first_and_the_request_last():
    image = paint_items(draw_program(DYE.words, BEFORE), 32)
    row, other = edit_row(image, DYE), edit_row(image, DYE._replace(place=(6, 6), colour="red"))
    assert len(row) == EDIT_SIZE == 38
    np.testing.assert_array_equal(row[:PICTURE_SIZE], other[:PICTURE_SIZE])
    assert (row[PICTURE_SIZE:] != other[PICTURE_SIZE:]).any()
