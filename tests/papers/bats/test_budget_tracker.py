from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.bats.budget_tracker import budget_policy, budget_regime, budget_tracker


@pytest.mark.parametrize(
    "remaining, limit, regime",
    [
        (10, 10, "HIGH"),
        (7, 10, "HIGH"),
        (6, 10, "MEDIUM"),
        (3, 10, "MEDIUM"),
        (2, 10, "LOW"),
        (1, 10, "LOW"),
        (0, 10, "CRITICAL"),
        (9, 100, "CRITICAL"),
        (0, 0, "CRITICAL"),
    ],
)
def test_regimes_by_hand(remaining, limit, regime):
    assert budget_regime(remaining, limit) == regime


@given(st.integers(1, 10**6), st.data())
def test_regimes_equal_a_comparison_of_fractions(limit, data):
    share = Fraction(remaining := data.draw(st.integers(0, limit)), limit)
    expected = "CRITICAL"
    for name, least in (("LOW", Fraction(1, 10)), ("MEDIUM", Fraction(3, 10)), ("HIGH", Fraction(7, 10))):
        expected = name if share >= least else expected
    assert budget_regime(remaining, limit) == expected


@pytest.mark.parametrize("remaining, limit", [(-1, 3), (4, 3)])
def test_impossible_remainders_raise(remaining, limit):
    with pytest.raises(InputError, match="give 0 to the limit"):
        budget_regime(remaining, limit)


def test_the_tracker_has_a_line_for_every_tool():
    text = budget_tracker({"search": 3, "other": 9}, {"search": 10, "browse": 2})
    assert text == "search used: 3, remaining: 7\nbrowse used: 0, remaining: 2"


def test_the_policy_names_all_regimes():
    text = budget_policy()
    assert "HIGH (70% or more): explore" in text and "LOW (10% or more)" in text and "CRITICAL (less): answer" in text
