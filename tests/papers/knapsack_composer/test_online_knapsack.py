from math import e, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.knapsack_composer.online_knapsack import (
    Candidate,
    competitive_bound,
    online_knapsack,
    ratio_threshold,
)


def always(number, skill):
    return True


def test_ratio_threshold_equals_numbers_worked_by_hand():
    # L = 1, U = 10, z = 0.5: (10 e)^0.5 / e = (10 / e)^0.5 = 3.67879441^0.5 = 1.91801835
    found = [ratio_threshold(z, low=1, high=10) for z in (0, 0.5, 1)]
    assert found == pytest.approx([0.36787944, 1.91801835, 10.0], abs=1e-6)
    assert ratio_threshold(1 / (1 + log(10)), low=1, high=10) == pytest.approx(1.0, abs=1e-9)


def test_a_candidate_at_half_the_budget_is_accepted_above_the_threshold():
    # 5 of 10 are spent by candidate 0: 3 / 1 = 3 is above 1.918, 3 / 2 = 1.5 is not
    importance_M = [50.0, 3.0, 3.0]
    first = Candidate(5, (0,))
    cheap = online_knapsack([first, Candidate(1, (1,))], importance_M, budget=10, low=1, high=10, helps=always)
    dear = online_knapsack([first, Candidate(2, (2,))], importance_M, budget=10, low=1, high=10, helps=always)
    assert cheap == ((0, 1), frozenset({0, 1}), 6.0, 2)
    assert dear == ((0,), frozenset({0}), 5.0, 2)


def test_a_tool_is_worth_only_the_open_skills_with_which_a_probe_helps():
    candidates = [
        Candidate(1, (0,)),
        Candidate(1, (0, 1)),
        Candidate(1, (1, 2)),
        Candidate(9, (2,)),
        Candidate(1, (2,)),
    ]
    helpful = {(1, 0), (2, 1), (4, 2)}
    probed = []

    def helps(number, skill):
        probed.append((number, skill))
        return (number, skill) in helpful

    found = online_knapsack(candidates, [1.0, 1.0, 1.0], budget=3, helps=helps)
    # candidate 1 closes skill 0, candidate 2 skill 1; candidate 3 exceeds the budget and is not probed
    assert probed == [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (4, 2)]
    assert found == ((1, 2, 4), frozenset({0, 1, 2}), 3.0, 6)


def optimum(value_N, cost_N, budget):
    """Best value of a 0/1 knapsack with integer costs."""
    best_B = np.zeros(budget + 1)
    for value, cost in zip(value_N, cost_N):
        best_B[cost:] = np.maximum(best_B[cost:], best_B[: budget + 1 - cost] + value)
    return best_B[-1]


@settings(deadline=None, max_examples=100)
@given(
    items=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 4)), min_size=1, max_size=120),
    spread=st.floats(1, 50),
    rising=st.booleans(),
)
def test_online_value_reaches_the_competitive_bound_on_every_order(items, spread, rising):
    budget = 40
    drawn = sorted(items) if rising else items
    cost_N = [cost for _, cost in drawn]
    value_N = [spread**level * cost for level, cost in drawn]
    candidates = [Candidate(cost, (number,)) for number, cost in enumerate(cost_N)]
    found = online_knapsack(candidates, value_N, budget=budget, low=1.0, high=spread, helps=always)
    gained = sum(value_N[number] for number in found.chosen)
    bound = competitive_bound(low=1.0, high=spread, largest_share=max(cost_N) / budget)
    assert found.spent <= budget
    assert optimum(value_N, cost_N, budget) <= gained * bound * (1 + 1e-9)


def test_rising_ratios_lose_more_without_the_threshold_than_the_bound():
    # 40 items each of ratio 1, then 40 each of ratio 50: acceptance of everything ends with ratio 1
    value_N = [1.0] * 40 + [50.0] * 40
    candidates = [Candidate(1, (number,)) for number in range(80)]
    plain = online_knapsack(candidates, value_N, budget=40, helps=always)
    threshold = online_knapsack(candidates, value_N, budget=40, low=1, high=50, helps=always)
    bound = competitive_bound(low=1, high=50, largest_share=1 / 40)
    assert sum(value_N[number] for number in plain.chosen) == 40 < 2000 / bound
    assert sum(value_N[number] for number in threshold.chosen) >= 2000 / bound


def test_competitive_bound_equals_numbers_worked_by_hand():
    assert competitive_bound(low=1, high=10) == pytest.approx(1 + 2.302585093, abs=1e-6)
    assert competitive_bound(low=1, high=10, largest_share=0.5) == pytest.approx(3.302585093 * 10 * e, abs=1e-4)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"budget": 0}, "the budget is 0"),
        ({"budget": float("nan")}, "the budget is nan"),
        ({"low": 2.0, "high": 1.0}, "low=2.0 and high=1.0"),
        ({"low": 0.0, "high": 1.0}, "low=0.0 and high=1.0"),
        ({"importance_M": [-1.0]}, "importance is negative"),
        ({"candidates": [Candidate(0, (0,))]}, "candidate 0 costs 0"),
        ({"candidates": [Candidate(1, (1,))]}, "candidate 0 has a skill out of 0 to 0"),
    ],
)
def test_bad_arguments_raise(change, message):
    given_ = {"candidates": [Candidate(1, (0,))], "importance_M": [1.0], "budget": 5.0, "helps": always} | change
    with pytest.raises(InputError, match=message):
        online_knapsack(given_.pop("candidates"), given_.pop("importance_M"), **given_)


def test_a_share_beyond_one_raises():
    with pytest.raises(InputError, match="spent_share is 1.5"):
        ratio_threshold(1.5, low=1, high=2)
