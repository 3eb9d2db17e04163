from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Group
from handaxe.core.requests import Stopped
from handaxe.core.validation import check_group
from handaxe.ops.turn_tree import turn_tree
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


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), total=st.integers(1, 8), most=st.integers(1, 4))
def test_the_tree_has_the_requested_number_of_leaves(dice, seed, total, most):
    found = play(dice, seed, total=total, fork_most=most)
    assert len(kept(found)) == total and found[:total] == kept(found)
    check_group(group(found))
    tree_of = turn_tree(group(kept(found)))
    offered = Counter(int(parent) for parent in tree_of.parents if parent >= 0)
    assert max(offered.values(), default=0) <= most
    again = play(dice, seed, total=total, fork_most=most)
    assert [one.sequences[0].ids.tolist() for one in again] == [one.sequences[0].ids.tolist() for one in found]


@pytest.mark.parametrize("seed", range(8))
def test_one_fork_per_turn_gives_independent_rollouts(dice, seed):
    found = play(dice, seed, fork_most=1)
    (alone,) = run_plan(linear()(dice.attempt(seed)), sample=dice.roll)
    assert len(found) == 6 == len(turn_tree(group(found)).children(-1)) and not any(
        one.ending == STOPPED for one in found
    )
    assert found[0].sequences[0].ids.tolist() == alone.sequences[0].ids.tolist() and found[0].env == alone.env


def test_the_tree_can_be_rebuilt_from_its_branches(dice):
    """Turns have a seed of their own, so those of one seed are one turn; what was given up is left out."""
    shared = 0
    for seed in range(40):
        members = kept(play(dice, seed))
        found = turn_tree(group(members))
        slow = {}
        for i, one in enumerate(members):
            for turn in one.turns:
                slow.setdefault(turn.seed, []).append(i)
        assert sorted(map(tuple, slow.values())) == sorted(map(tuple, found.members))
        for one, own in zip(members, found.nodes):
            assert [found.parents[step] for step in own] == [-1, *own[:-1]][: len(own)]
            assert [slow[turn.seed] for turn in one.turns] == [found.members[step] for step in own]
        shared += sum(len(siblings) > 1 for siblings in found.members)
    assert shared > 20


def test_unfinished_trajectories_keep_their_number_and_dropped_ones_are_listed(dice):
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


@pytest.mark.slow
def test_kept_turns_are_sampled_uniformly(dice):
    """Of three with three next turns each, three are kept: one keeps none as often as chance says."""
    none = total = 0
    for seed in range(700):
        found = play(dice, seed, total=3, max_turns=2)
        if all(one.turns[0].replies for one in found):
            none, total = none + sum(one.ending == STOPPED for one in found), total + 3
    # hypergeometric: none of the own three among the three of nine: C(6, 3) / C(9, 3) = 0.2381
    assert total > 200 and abs(none / total - 0.2381) < 4 * (0.2381 * 0.7619 / total) ** 0.5


def test_every_branch_has_the_environment_of_its_history(dice):
    for seed in range(20):
        for one in play(dice, seed):
            assert one.env["sums"] == [0, *(int(reply.content.split(".")[0]) for reply in one.replies)]


@pytest.mark.parametrize("when", range(0, 30, 3))
def test_a_stopped_tree_returns_its_trajectories_and_closes_environments(dice, when):
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


def test_a_failed_first_trajectory_has_no_forks(dice):
    class Dying(dice.Counter):
        def start(self):
            raise OSError("no sandbox")

    (one,) = play(dice, 1, env=Dying)
    assert one.ending == Ending("infra_error", "OSError: no sandbox")


@pytest.mark.parametrize("wrong", [{"total": 0}, {"fork_most": 0}])
def test_tree_refuses_numbers_out_of_range(wrong):
    with pytest.raises(InputError, match="total is"):
        tree(**wrong)
