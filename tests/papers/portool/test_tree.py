from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Group
from handaxe.core.requests import Stopped
from handaxe.core.validation import check_group
from handaxe.ops.forks import steps_of
from handaxe.papers.portool.tree import tree
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear

STOPPED = Ending("truncated", "stopped")


def play(dice, seed, *, env=None, sample=None, **options):
    attempt = dice.attempt(seed, env=env or dice.Counter)
    return run_plan(tree(**{"total": 6, "fork_most": 3} | options)(attempt), sample=sample or dice.roll)


def kept(found):
    return [one for one in found if one.ending != STOPPED]


def group(found):
    return Group(found[0].task, tuple(found))


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), total=st.integers(1, 8), most=st.integers(1, 4))
def test_as_many_as_asked_for_are_kept_and_the_group_is_valid(dice, seed, total, most):
    found = play(dice, seed, total=total, fork_most=most)
    assert len(kept(found)) == total and found[:total] == kept(found)
    check_group(group(found))
    tree_of = steps_of(group(kept(found)))
    offered = Counter(int(parent) for parent in tree_of.parents if parent >= 0)
    assert max(offered.values(), default=0) <= most
    again = play(dice, seed, total=total, fork_most=most)
    assert [one.sequences[0].ids.tolist() for one in again] == [one.sequences[0].ids.tolist() for one in found]


@pytest.mark.parametrize("seed", range(8))
def test_with_one_next_turn_each_it_is_that_many_attempts(dice, seed):
    found = play(dice, seed, fork_most=1)
    (alone,) = run_plan(linear()(dice.attempt(seed)), sample=dice.roll)
    assert len(found) == 6 == len(steps_of(group(found)).children(-1)) and not any(
        one.ending == STOPPED for one in found
    )
    assert found[0].sequences[0].ids.tolist() == alone.sequences[0].ids.tolist() and found[0].env == alone.env


def test_the_tree_that_is_found_again_is_the_one_that_was_grown(dice):
    """Turns have a seed of their own, so those of one seed are one turn; what was given up is left out."""
    shared = 0
    for seed in range(40):
        members = kept(play(dice, seed))
        found = steps_of(group(members))
        slow = {}
        for i, one in enumerate(members):
            for turn in one.turns:
                slow.setdefault(turn.seed, []).append(i)
        assert sorted(map(tuple, slow.values())) == sorted(map(tuple, found.through))
        for one, own in zip(members, found.of):
            assert [found.parents[step] for step in own] == [-1, *own[:-1]][: len(own)]
            assert [slow[turn.seed] for turn in one.turns] == [found.through[step] for step in own]
        shared += sum(len(siblings) > 1 for siblings in found.through)
    assert shared > 20


def test_as_many_go_on_as_there_were_and_what_is_given_up_is_told(dice):
    """At every depth as many turns as trajectories that were not over; each of those not kept ends as stopped."""
    given_up = 0
    for seed in range(40):
        found = play(dice, seed)
        seeds = {turn.seed: k for one in found for k, turn in enumerate(one.turns)}
        played = Counter(seeds.values())
        over = Counter(len(one.turns) for one in kept(found))
        assert played[0] == 6
        for depth in range(1, 4):
            assert played[depth] == 6 - sum(over[n] for n in range(depth + 1))
        for one in found[6:]:
            assert one.turns and one.ending == STOPPED and one.turns[-1].replies
        given_up += len(found) - 6
    assert given_up > 20


def test_what_is_kept_is_drawn_as_often_from_each(dice):
    """Of three with three next turns each, three are kept: one keeps none as often as chance says."""
    none = total = 0
    for seed in range(700):
        found = play(dice, seed, total=3, max_turns=2)
        if all(one.turns[0].replies for one in found):
            none, total = none + sum(one.ending == STOPPED for one in found), total + 3
    # hypergeometric: none of the own three among the three of nine: C(6, 3) / C(9, 3) = 0.2381
    assert total > 200 and abs(none / total - 0.2381) < 4 * (0.2381 * 0.7619 / total) ** 0.5


def test_each_has_the_environment_of_its_own_way(dice):
    for seed in range(20):
        for one in play(dice, seed):
            assert one.env["sums"] == [0, *(int(reply.content.split(".")[0]) for reply in one.replies)]


@pytest.mark.parametrize("when", range(0, 30, 3))
def test_stopped_in_the_middle_what_is_there_is_returned_and_all_is_closed(dice, when):
    count = iter(range(10**6))

    def speak(name, request):
        if next(count) >= when:
            raise Stopped
        return dice.roll(name, request)

    dice.Counter.made.clear()
    found = play(dice, 5, sample=speak)
    assert len(found) >= 6 and len(kept(found)) <= 6
    check_group(group(found))
    assert all(env.closed == 1 for env in dice.Counter.made)


def test_a_first_one_that_dies_at_once_is_alone(dice):
    class Dying(dice.Counter):
        def start(self):
            raise OSError("no sandbox")

    (one,) = play(dice, 1, env=Dying)
    assert one.ending == Ending("infra_error", "OSError: no sandbox")


@pytest.mark.parametrize("wrong", [{"total": 0}, {"fork_most": 0}])
def test_numbers_out_of_range(wrong):
    with pytest.raises(InputError, match="tree has"):
        tree(**wrong)
