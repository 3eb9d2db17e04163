import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.hint_selection import covered_charts, select_hints

REWARDS = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}
COVERED = {("mark", "bar"): {"a", "b"}, ("x", "u"): {"a", "c"}, ("x", "v"): {"d"}}


def value(chosen, covered, rewards):
    return sum(rewards[one] for one in set().union(*(covered[hint] for hint in chosen)))


def test_the_docstring_example():
    assert select_hints(COVERED, REWARDS, k=2) == [("mark", "bar"), ("x", "u")]
    assert select_hints(COVERED, REWARDS, k=9) == [("mark", "bar"), ("x", "u"), ("x", "v")]
    assert select_hints(COVERED, REWARDS, k=9, per_clause=1) == [("mark", "bar"), ("x", "u")]


def test_hints_without_new_reward_are_left_out():
    covered = {("mark", "bar"): {"a"}, ("x", "u"): {"a"}, ("y", "v"): set()}
    assert select_hints(covered, REWARDS, k=3) == [("mark", "bar")]


CHARTS = "abcdef"
COVERS = st.dictionaries(
    st.tuples(st.sampled_from(["mark", "x", "y"]), st.sampled_from("pqr")), st.frozensets(st.sampled_from(CHARTS)),
    min_size=1, max_size=6,
)  # fmt: skip


@given(COVERS, st.lists(st.integers(0, 9), min_size=6, max_size=6), st.integers(1, 4), st.integers(1, 3))
def test_greedy_reaches_its_share_of_the_best_choice(covered, numbers, k, limit):
    rewards = dict(zip(CHARTS, map(float, numbers)))
    chosen = select_hints(covered, rewards, k=k, per_clause=limit)
    allowed = [
        one
        for one in combinations(covered, min(k, len(covered)))
        for one in [one[:size] for size in range(len(one) + 1)]
        if all(sum(hint[0] == clause for hint in one) <= limit for clause in ("mark", "x", "y"))
    ]
    best = max(value(one, covered, rewards) for one in allowed)
    share = 0.5 if limit < 3 else 1 - 1 / math.e
    assert len(chosen) <= k and value(chosen, covered, rewards) >= share * best - 1e-9


def test_charts_by_operation():
    bar = ("bar", "pet", "sum", "age", "none", "none", "top5")
    arc = ("arc", "pet", "sum", "age", "none", "none", "none")
    found = covered_charts({bar: 0.9, arc: 0.4}, constraints={"y": "age"})
    assert found == {
        ("mark", "bar"): {bar},
        ("mark", "arc"): {arc},
        ("x", "pet"): {bar, arc},
        ("aggregate", "sum"): {bar, arc},
        ("filter", "top5"): {bar},
    }
    assert ("mark", "arc") not in covered_charts({bar: 0.9, arc: 0.4}, most=1)


@pytest.mark.parametrize(
    "covered, rewards, k, message",
    [
        (COVERED, REWARDS, 0, "at least 1"),
        (COVERED, {**REWARDS, "a": -1.0}, 1, "at least 0"),
        (COVERED, {"a": 1.0}, 1, "no reward"),
    ],
)
def test_bad_input_is_an_input_error(covered, rewards, k, message):
    with pytest.raises(InputError, match=message):
        select_hints(covered, rewards, k=k)
