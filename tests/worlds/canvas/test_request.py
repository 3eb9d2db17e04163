import itertools
import random

import numpy as np
import pytest

from handaxe.core.images import Image
from handaxe.worlds.canvas.drawing import CELLS, COLOURS, SHAPES, Item, draw_program, paint_items
from handaxe.worlds.canvas.request import ItemClause, clause_words, differing_cells, fidelity, similarity

WANTED = (ItemClause(1, "red", "disc", 2, 4),)


def test_requests_in_words():
    assert clause_words((*WANTED, ItemClause(2, "blue", "ring"), ItemClause(1, "cyan", "square"))) == (
        "red disc at 2 4, 2 blue rings, 1 cyan square"
    )


@pytest.mark.parametrize(
    "program, value",
    [
        ("red disc 2 4", 1),
        ("blue disc 2 4", 2 / 3),
        ("blue disc 2 4; blue disc 0 0", 1 / 3),
        ("red disc 2 4; blue disc 0 0", 1 / 2),
        ("green ring 0 0", 0),
    ],
)
def test_fidelity_by_hand(program, value):
    assert fidelity(draw_program(program, ()), WANTED) == pytest.approx(value, abs=1e-12)


def test_fidelity_of_counts_and_of_nothing():
    two = (ItemClause(2, "blue", "ring"),)
    assert fidelity(draw_program("blue ring 0 0; blue ring 4 4", ()), two) == 1
    assert fidelity(draw_program("blue ring 0 0", ()), two) == 0.5
    assert fidelity(draw_program("blue ring 0 0; red ring 4 4", ()), two) == 0.75
    assert fidelity((), two) == 0 and fidelity((), ()) == 1 and fidelity(draw_program("red 0 0", ()), ()) == 0


def slow_fidelity(items, clauses):
    """All assignments, one after another."""
    wanted = [clause for clause in clauses for _ in range(clause.number)]
    best = 0.0
    size = max(len(wanted), len(items))
    for order in itertools.permutations(range(size)):
        total = 0.0
        for number, clause in enumerate(wanted):
            if order[number] >= len(items):
                continue
            item = items[order[number]]
            equal = [clause.colour == item.colour, clause.shape == item.shape]
            if clause.left is not None:
                equal.append(clause.left == item.left and clause.top == item.top)
            total += sum(equal) / len(equal)
        best = max(best, total)
    return best / size


def test_fidelity_equals_all_assignments():
    rng = random.Random(0)
    colours, shapes = list(COLOURS)[:2], SHAPES[:2]
    for _ in range(40):
        cells = rng.sample(CELLS, 4)
        items = tuple(Item(rng.choice(colours), rng.choice(shapes), *cell) for cell in cells[: rng.randint(1, 4)])
        clauses = [ItemClause(1, rng.choice(colours), rng.choice(shapes), *rng.choice(cells)) for _ in range(2)]
        clauses.append(ItemClause(rng.randint(1, 2), rng.choice(colours), rng.choice(shapes)))
        assert fidelity(items, clauses) == pytest.approx(slow_fidelity(items, clauses), abs=1e-12)


def test_similarity_and_differing_cells():
    white, black = (Image.of(np.full((32, 32, 3), value, np.uint8)) for value in (255, 0))
    assert similarity(white, black) == 0 and similarity(white, white) == 1
    one, other = (paint_items(draw_program(program, ()), 32) for program in ("red 2 4; blue 0 0", "red 2 4; green 0 0"))
    assert differing_cells(one, other) == [(0, 0)] and differing_cells(one, one) == []
    blue, green = (np.array(COLOURS[name], float) for name in ("blue", "green"))
    assert similarity(one, other) == pytest.approx(1 - np.abs(blue - green).mean() / 255 / 16, abs=1e-12)
