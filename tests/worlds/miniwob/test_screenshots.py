"""Images of a drawn page; test_world.py takes screenshots in a real Chromium."""

import io

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.worlds.miniwob.elements import Element
from handaxe.worlds.miniwob.screenshots import INK, View

pillow = pytest.importorskip("PIL.Image")

BUTTON = Element(4, "button", "Ok", None, (40, 90, 80, 130))


def page():
    """Yellow instruction, white area, grey button."""
    pixels = np.full((210, 160, 3), 255, np.uint8)
    pixels[:50] = (255, 255, 0)
    pixels[90:130, 40:80] = (100, 100, 100)
    out = io.BytesIO()
    pillow.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_the_part_below_the_instruction_is_shown():
    shown = View("pixels").show(page(), (BUTTON,)).pixels
    assert shown.shape == (160, 160, 3) and not (shown == (255, 255, 0)).all(2).any()
    grey = np.argwhere((shown == 100).all(2))
    assert grey.min(0).tolist() == [40, 40] and grey.max(0).tolist() == [79, 79]


def test_marks_are_a_frame_and_a_number_on_each_element():
    plain, marked = (View(seen).show(page(), (BUTTON,)).pixels for seen in ("pixels", "marks"))
    changed = np.argwhere((plain != marked).any(2))
    assert changed.min(0).tolist() == [40, 40] and changed.max(0).tolist() == [79, 79]
    red = (marked == INK).all(2)
    assert red[40, 40:80].all() and red[79, 40:80].all() and red[40:80, 40].all() and red[40:80, 79].all()
    assert (marked[41:50, 41:48] == 255).all(2).any() and (marked[55:75, 55:75] == 100).all()
    two = View("marks").show(page(), (BUTTON, BUTTON._replace(box=(0, 150, 20, 170)))).pixels
    assert (two[100:120, 0:20] == INK).all(2).any() and (two[40:80, 40:80] == marked[40:80, 40:80]).all()


@pytest.mark.parametrize("longest", [16, 32, 40, 64, 160])
def test_a_shown_pixel_and_a_point_of_the_page_are_inverse(longest):
    view = View("pixels", longest)
    assert view.show(page(), ()).pixels.shape == (longest, longest, 3)
    for x in range(0, longest, 3):
        left, top = view.to_page(x, longest - 1 - x)
        assert 0 <= left < 160 and 50 <= top < 210
        box = view.to_shown((left, top, left + 1, top + 1))
        assert abs(box[0] - x) <= 0.51 and abs(box[1] - (longest - 1 - x)) <= 0.51
    assert View("pixels", 32).to_page(0, 31) == (2, 207) and View("pixels", 32, 4).to_page(0, 7) == (
        10,
        200,
    )
    assert View("pixels", 32).to_shown((0, 50, 160, 210)) == (-0.5, -0.5, 31.5, 31.5)


@pytest.mark.parametrize(("longest", "unit"), [(16, 1), (40, 1), (64, 1), (160, 1), (32, 4), (40, 4)])
def test_the_middle_of_an_element_lies_in_the_element(longest, unit):
    view = View("pixels", longest, unit)
    small = ((0, 50, 14, 64), (146, 196, 160, 210)) if unit == 1 else ((3, 55, 43, 95), (118, 169, 158, 209))
    for box in (BUTTON.box, *small):
        x, y = view.to_page(*view.middle(BUTTON._replace(box=box)))
        assert box[0] <= x < box[2] and box[1] <= y < box[3]
    beyond = view.middle(BUTTON._replace(box=(0, 205, 20, 260)))
    assert 0 <= beyond[0] < view.side and beyond[1] == view.side - 1


@pytest.mark.parametrize("longest", [15, 161])
def test_sides_out_of_range_raise(longest):
    with pytest.raises(InputError, match="16 to 160 pixels a side"):
        View("marks", longest).check()


@pytest.mark.parametrize("unit", [0, 5])
def test_units_that_do_not_fill_a_side_raise(unit):
    with pytest.raises(InputError, match="no multiple of units"):
        View("pixels", 32, unit).check()
