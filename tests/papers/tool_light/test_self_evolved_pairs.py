from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Pair
from handaxe.papers.tool_light.entropy_tree import NOTE
from handaxe.papers.tool_light.self_evolved_pairs import mixed, self_evolved_pairs
from handaxe.testing.make_records import make_group, make_rated, make_task, make_trajectory


def chain(calls, entropy, tokens):
    one = make_trajectory(layouts=[f"Ut pp tTt {'p' * tokens}"], calls=[["f"] * calls, []])
    return replace(one, notes={NOTE: [[entropy, 1]]})


def rated(chains, outcome, id):
    return make_rated(group=make_group(trajectories=chains, task=make_task(id=id)), outcome=outcome)


HARD = [chain(2, 0.1, 7), chain(1, 0.2, 2), chain(1, 0.3, 10), chain(1, 0.1, 4)]
EASY = [chain(1, 0.4, 3), chain(1, 0.3, 8), chain(3, 0.1, 2)]


def places(pairs):
    return [(pair.chosen.task.id, pair.chosen.sample, pair.rejected.sample) for pair in pairs]


def test_pairs_by_hand():
    """Accuracy 1/4: longest correct against shortest incorrect; accuracy 2/3: fewest calls, lowest entropy."""
    hard = rated(HARD, [1, 0, 0, 0], "b")
    easy = rated(EASY, [1, 1, 0], "a")
    assert places(self_evolved_pairs()([hard, easy])) == [("a", 1, 2), ("b", 0, 1)]
    two = rated(HARD, [1, 1, 0, 0], "b")
    assert places(self_evolved_pairs()([two])) == [], "easy from 0.5, without more calls of an incorrect chain"
    assert places(self_evolved_pairs(hard_below=0.51)([two])) == [("b", 0, 3)]
    assert self_evolved_pairs()([rated(HARD, [0] * 4, "b"), rated(HARD, [1] * 4, "c")]) == []


def named(letter, count):
    made = [make_trajectory(texts=["x"], task=make_task(id=f"{letter}{k}"), id=f"{letter}{k}/0") for k in range(count)]
    return [Pair(one, one) for one in made]


@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 4))
def test_mix_has_the_ratio_of_the_paper(easy, hard, per_easy):
    found = mixed(named("e", easy)[::-1], named("h", hard), per_easy)
    kinds = [pair.chosen.task.id[0] for pair in found]
    if not easy or not hard:
        assert len(found) == easy + hard
        return
    assert kinds.count("h") == min(hard, per_easy * easy)
    assert per_easy * (kinds.count("e") - 1) < kinds.count("h") <= per_easy * kinds.count("e")


def test_mix_by_hand():
    assert [pair.chosen.task.id for pair in mixed(named("e", 3), named("h", 4), 2)] == [
        "e0",
        "e1",
        "h0",
        "h1",
        "h2",
        "h3",
    ]
    assert len(mixed(named("e", 3), named("h", 9), 2)) == 9


def test_bad_numbers_are_an_input_error():
    for options in ({"hard_below": 1.5}, {"hard_per_easy": 0}):
        with pytest.raises(InputError, match="a share from 0 to"):
            self_evolved_pairs(**options)
