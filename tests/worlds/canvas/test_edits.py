import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.worlds.canvas.drawing import draw_program, paint_items
from handaxe.worlds.canvas.edits import DIRT, KINDS, SPECKS, edit_drawing, edit_requests, edited_pairs

pytest.importorskip("PIL")


class Draws:
    """A generator with given whole numbers, for the three draws of an edit."""

    def __init__(self, *numbers):
        self._numbers, self._rng = list(numbers), generator("draws", 0)

    def integers(self, high, size=None):
        return self._rng.integers(high, size=size) if size is not None else self._numbers.pop(0)

    def permutation(self, count):
        return np.arange(count)


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_edit_without_errors_is_the_drawing_of_the_program(kind):
    (request,) = edit_requests(1, seed=3, kinds=(kind,))
    made = edit_drawing(request, Draws(2, 0, 0))
    assert made.qualities == (1, 1, 1) and made.request.kind == kind
    assert made.image == paint_items(draw_program(request.words, request.before), 32)


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_error_lowers_its_own_quality(kind):
    (request,) = edit_requests(1, seed=3, kinds=(kind,))
    unchanged = edit_drawing(request, Draws(0, 0, 0))
    wrong = edit_drawing(request, Draws(1, 0, 0))
    lost = edit_drawing(request, Draws(2, 1, 0))
    dirty = edit_drawing(request, Draws(2, 0, 2))
    assert unchanged.qualities == (0, 1, 1) and unchanged.image == paint_items(request.before, 32)
    assert wrong.qualities == (0.5, 1, 1) and wrong.image == paint_items(
        draw_program(request.wrong, request.before), 32
    )
    assert lost.qualities == (1, 0.5, 1)
    assert dirty.qualities == (1, 1, 1 - 2 / DIRT)
    clean = paint_items(draw_program(request.words, request.before), 32)
    assert 0 < (dirty.image.pixels != clean.pixels).any(-1).sum() <= 2 * SPECKS


def test_requests_and_pairs_follow_the_seed():
    assert edit_requests(6, seed=1) == edit_requests(6, seed=1) != edit_requests(6, seed=2)
    assert [one.kind for one in edit_requests(4, seed=0)] == ["dye", "clear", "add", "dye"]
    first, second = edited_pairs(1, seed=0)[0]
    assert first.request is second.request


def test_an_unknown_kind_and_a_negative_count_are_errors():
    for wrong in ({"count": 1, "kinds": ("blur",)}, {"count": -1}, {"count": 1, "kinds": ()}):
        with pytest.raises(InputError, match="give a count from 0 and kinds of dye, clear, add"):
            edit_requests(**wrong, seed=0)
