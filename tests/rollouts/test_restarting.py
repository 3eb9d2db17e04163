from dataclasses import replace

import numpy as np
import pytest

from handaxe import records
from handaxe.errors import InputError
from handaxe.records import Ending, Spent
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.restarting import restarting


@pytest.fixture
def recorded(dice):
    for seed in range(80):
        (one,) = run_plan(linear(max_turns=6)(dice.attempt(seed)), sample=dice.roll)
        if len(one.turns) >= 4:
            return one
    raise AssertionError


def play(dice, rollout, n=0, *, step=0):
    attempt = replace(dice.attempt(100 + n, id=f"t/{step}/{n}"), step=step, sibling=n, siblings=4)
    (one,) = run_plan(rollout(attempt), sample=dice.roll)
    records.check(one)
    return one


def test_example(dice, recorded):
    group = [play(dice, restarting(starts=lambda attempt: (recorded, 2), share=1.0, max_turns=6), n) for n in range(4)]
    assert all(one.turns[:2] == recorded.turns[:2] and one.branch_of.trajectory == recorded.id for one in group)
    assert len({tuple(one.sequences[0].ids) for one in group}) > 1


def test_no_share_and_no_place_are_the_plain_rollout(dice, recorded):
    def never(attempt):
        raise AssertionError("it is not asked")

    for starts, share in ((never, 0.0), (lambda attempt: None, 1.0)):
        rollout = restarting(starts=starts, share=share, max_turns=6)
        one, plain = play(dice, rollout), play(dice, linear(max_turns=6))
        np.testing.assert_array_equal(one.sequences[0].ids, plain.sequences[0].ids)
        assert one.branch_of is None and one.spent is None


def test_siblings_begin_at_one_place_whatever_the_store_learns_meanwhile(dice, recorded):
    places = iter([(recorded, 1), (recorded, 2), None])
    rollout = restarting(starts=lambda attempt: next(places), share=1.0, max_turns=6)
    first = [play(dice, rollout, n) for n in range(3)]
    assert {one.branch_of.token for one in first} == {recorded.turns[1].start}
    assert play(dice, rollout, step=1).branch_of.token == recorded.turns[2].start
    assert play(dice, rollout, step=2).branch_of is None
    assert play(dice, rollout, 3).branch_of.token == recorded.turns[1].start, "a retry of the first step's group"


def test_the_share_is_of_groups(dice, recorded):
    rollout = restarting(starts=lambda attempt: (recorded, 2), share=0.25, max_turns=6)
    began = [[play(dice, rollout, n, step=step).branch_of is not None for n in range(2)] for step in range(60)]
    assert all(len(set(group)) == 1 for group in began)
    assert 6 <= sum(group[0] for group in began) <= 26
    other = restarting(starts=lambda attempt: (recorded, 2), share=0.25, max_turns=6, seed=1)
    assert began != [[play(dice, other, n, step=step).branch_of is not None for n in range(2)] for step in range(60)]


def test_unanswered_is_one_turn_and_no_environment(dice, recorded):
    dice.Counter.made.clear()
    rollout = restarting(starts=lambda attempt: (recorded, 2), share=1.0, answered=False, max_turns=6)
    one = play(dice, rollout)
    assert not dice.Counter.made and len(one.turns) == 3 and one.turns[:2] == recorded.turns[:2]
    assert one.ending in (Ending("truncated", "turns"), Ending("truncated", "length"))
    own = one.turns[2]
    assert one.used == Spent(own.stop - own.start, 0, own.seconds, own.cost), "no call was made"


def test_a_place_behind_the_last_turn_that_is_allowed(dice, recorded):
    one = play(dice, restarting(starts=lambda attempt: (recorded, 3), share=1.0, max_turns=3))
    assert one.turns == recorded.turns[:3] and one.ending == Ending("truncated", "turns")


def test_a_share_out_of_range():
    with pytest.raises(InputError, match="share"):
        restarting(starts=lambda attempt: None, share=1.5)
