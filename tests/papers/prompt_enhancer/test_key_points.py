import itertools
import random

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.prompt_enhancer.key_points import KeyPoint, meets_point
from handaxe.worlds.canvas.drawing import CELLS, Item

DRAWN = (Item("red", "disc", 0, 0), Item("red", "disc", 4, 0))


@pytest.mark.parametrize(
    "point, met",
    [
        (KeyPoint("count", ("red disc",), 2), True),
        (KeyPoint("count", ("red disc",), 1), False),
        (KeyPoint("relation", ("red disc", "red disc"), 1, "left of"), True),
        (KeyPoint("relation", ("red disc", "red disc"), 1, "above"), False),
        (KeyPoint("negation", ("blue",)), True),
        (KeyPoint("negation", ("red",)), False),
        (KeyPoint("object", ("red ring",)), False),
        (KeyPoint("object", ("red disc",)), True),
    ],
)
def test_points_equal_the_worked_example(point, met):
    assert meets_point(point, DRAWN) is met


def test_relations_equal_a_slow_loop():
    rng = random.Random(0)
    for _ in range(50):
        drawn = tuple(Item(rng.choice(["red", "blue"]), "disc", *cell) for cell in rng.sample(CELLS, 4))
        for relation in ("left of", "above"):
            expected = False
            for a, b in itertools.product(drawn, drawn):
                if a.colour == "red" and b.colour == "blue":
                    expected |= a.left < b.left if relation == "left of" else a.top < b.top
            assert meets_point(KeyPoint("relation", ("red disc", "blue disc"), 1, relation), drawn) == expected


def test_an_unknown_category_is_refused():
    with pytest.raises(InputError, match="category 'mood'"):
        meets_point(KeyPoint("mood", ()), DRAWN)
