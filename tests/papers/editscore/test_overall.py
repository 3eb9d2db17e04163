import itertools
from math import sqrt

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.editscore.overall import overall, read_grades


def test_the_overall_score_by_hand():
    """SC [20, 15], PQ [18] of 25: SC 6.0, PQ 7.2, O sqrt(43.2) = 6.5727."""
    assert overall([20, 15], [18]) == pytest.approx(6.5727, abs=1e-4)


def test_the_overall_score_equals_a_slow_loop():
    for first, second, quality in itertools.product((0, 7, 25), repeat=3):
        least = first if first < second else second
        assert overall([first, second], [quality]) == pytest.approx(sqrt(least / 25 * 10 * quality / 25 * 10), abs=1e-9)


@pytest.mark.parametrize("grades", [([], [1]), ([1], []), ([26], [1]), ([1], [-1])])
def test_grades_off_the_scale_are_errors(grades):
    with pytest.raises(InputError, match="one or more of 0 to 25"):
        overall(*grades)


@pytest.mark.parametrize(
    "text, found", [("20 15", (20, 15)), ("[20, 15]", (20, 15)), ("20", None), ("20 26", None), ("20 15 3", None)]
)
def test_grades_are_read_exactly(text, found):
    assert read_grades(text, count=2) == found
