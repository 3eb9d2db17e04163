from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Group
from handaxe.core.requests import Measure, Stopped
from handaxe.core.validation import check_group
from handaxe.ops.turn_tree import shared_turn_count
from handaxe.papers.aepo.probe_split import probe_split
from handaxe.rollouts.branch_chance import branch_chance
from handaxe.rollouts.branching import branching
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play.play import MEASURE_NOTE

CHANCE = branch_chance(vocabulary=264)


def weigh(name, request):
    """A model's entropies, made of the ids."""
    return {name: [(37 * id % 100) / 25 for id in request.ids[request.start :]] for name in request.names}


def play(dice, seed, *, env=None, sample=None, **options):
    attempt = dice.attempt(seed, env=env or dice.Counter)
    rollout = branching(**{"chance": CHANCE, "total": 8, "from_start": 4} | options)
    return run_plan(rollout(attempt), sample=sample or dice.roll, measure=weigh)


def from_the_question(found):
    return [one for one in found if not shared_turn_count(one)]


@pytest.mark.parametrize("seed", range(5))
def test_chance_zero_gives_independent_rollouts(dice, seed):
    found = play(dice, seed, chance=lambda change, row: 0.0)
    assert len(found) == 8 and from_the_question(found) == found
    (alone,) = run_plan(linear()(dice.attempt(seed)), sample=dice.roll)
    assert found[0].sequences[0].ids.tolist() == alone.sequences[0].ids.tolist() and found[0].env == alone.env
    assert [one.id for one in found] == ["t/0", *(f"t/0/{n}" for n in range(1, 8))]
    assert len({one.seed for one in found}) == 8 and {one.sample for one in found} == {0}
    assert all(one.branch_of.trajectory == "t/0" for one in found[1:])


def test_chance_one_branches_at_each_place_until_slots_are_used(dice):
    for seed in range(40):
        found = play(dice, seed, total=30, from_start=3, chance=lambda change, row: 1.0)
        played = {one.id: one for one in found}
        left = Counter(one.branch_of for one in found if shared_turn_count(one))
        assert set(left.values()) <= {1}
        for place in left:
            one = played[place.trajectory]
            (k,) = [k for k, turn in enumerate(one.turns) if (turn.sequence, turn.start) == place[1:]]
            assert one.turns[k - 1].replies, "it follows a tool's reply"
        assert len(left) == len(found) - len(from_the_question(found))
        if len(found) < 30:
            raise AssertionError("the rest is played from the question on")


def test_branching_equals_a_slow_loop(dice):
    """Every turn after a reply that was played from its beginning is asked about once, in order of rounds and of
    trajectories, with the entropies that the notes tell and the branches made in a row."""
    asked = []

    def chance(change, row):
        asked.append((change, row))
        return 1.0 if len(asked) % 3 == 1 else 0.0

    for seed in range(30):
        asked.clear()
        found = play(dice, seed, total=50, from_start=4, chance=chance)
        branched = [one for one in found if shared_turn_count(one)]
        members = [(one, 0) for one in from_the_question(found)[:4]]  # with the turn at which it begins
        played, row, expected = Counter(), 0, []
        for _ in range(12):
            for one, first in members[:]:
                k = first + played[one.id]
                if k >= len(one.turns):
                    continue
                played[one.id] += 1
                if k > first and one.turns[k - 1].replies:
                    expected.append((one.notes["entropy"][k] - one.notes["entropy"][0], row))
                    row = row + 1 if len(expected) % 3 == 1 else 0
                place = (one.id, one.turns[k].sequence, one.turns[k].start)
                members += [(branch, k) for branch in branched if branch.branch_of == place]
        np.testing.assert_allclose(asked, expected)


def test_entropy_is_the_mean_over_first_tokens_of_a_turn(dice):
    requests = []

    def measure(name, request):
        requests.append(request)
        return weigh(name, request)

    rollout = branching(chance=CHANCE, total=4, from_start=4, first_tokens=3)
    for one in run_plan(rollout(dice.attempt(2)), sample=dice.roll, measure=measure):
        ids = one.sequences[0].ids
        slow = [np.mean(weigh("", Measure(list(ids[: min(t.start + 3, t.stop)]), t.start, ("entropy",)))["entropy"])
                for t in one.turns]  # fmt: skip
        assert one.notes["entropy"] == pytest.approx(slow) and one.notes[MEASURE_NOTE]
    assert all(request.temperature == 1.0 and request.names == ("entropy",) for request in requests)


def test_a_branch_keeps_shared_entropies_and_the_environment_state(dice):
    seen = 0
    for seed in range(40):
        found = {one.id: one for one in play(dice, seed)}
        for one in found.values():
            k = shared_turn_count(one)
            left = found.get(one.branch_of.trajectory) if one.branch_of else None
            assert len(one.notes["entropy"]) == len(one.turns)
            if k:
                seen += 1
                assert one.notes["entropy"][:k] == left.notes["entropy"][:k]
                calls = sum(len(turn.replies) for turn in one.turns[:k])
                assert one.env["sums"][: calls + 1] == left.env["sums"][: calls + 1]
                sums = [int(reply.content.split(".")[0]) for reply in one.replies]
                assert one.env["sums"] == [0, *sums]
    assert seen > 20


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    total=st.integers(1, 9),
    share=st.floats(0, 1),
    copies=st.integers(1, 3),
    penalty=st.sampled_from([0.0, 0.05, 0.5]),
    probe=st.booleans(),
)
def test_branching_returns_the_requested_number_in_a_valid_group(dice, seed, total, share, copies, penalty, probe):
    start = probe_split() if probe else max(1, round(share * total))
    chance = branch_chance(vocabulary=264, penalty=penalty)
    found = play(dice, seed, total=total, from_start=start, copies=copies, chance=chance)
    assert len(found) == total
    check_group(Group(found[0].task, tuple(found)))
    again = play(dice, seed, total=total, from_start=start, copies=copies, chance=chance)
    assert [one.sequences[0].ids.tolist() for one in again] == [one.sequences[0].ids.tolist() for one in found]


def test_a_probe_decides_the_number_of_rollouts_from_the_start(dice):
    told = []

    def split(root, after, total):
        told.append((root, after, total))
        return 3

    for seed in range(20):
        told.clear()
        found = play(dice, seed, from_start=split, chance=lambda change, row: 1.0, total=50, copies=1)
        (first, *_), ((root, after, total),) = found, told
        entropy = first.notes["entropy"]
        later = [entropy[k] for k in range(1, len(entropy)) if first.turns[k - 1].replies]
        assert (root, total) == (entropy[0], 50)
        assert after == (pytest.approx(np.mean(later)) if later else None)
        assert from_the_question(found)[:3] == found[:3], "the two others are the next to begin"
    assert play(dice, 3, from_start=lambda *_: 99, total=5) and len(play(dice, 3, from_start=lambda *_: -2)) == 8


@pytest.mark.parametrize("when", range(0, 40, 3))
def test_a_stop_returns_the_trajectories_and_closes_all_environments(dice, when):
    count = iter(range(10**6))

    def speak(name, request):
        if next(count) >= when:
            raise Stopped
        return dice.roll(name, request)

    dice.Counter.made.clear()
    found = play(dice, 5, sample=speak)
    assert len(found) <= 8 and (when < 4 or len(found) >= 4)
    check_group(Group(found[0].task, tuple(found)))
    if len(found) < 8:
        assert any(one.ending == Ending("truncated", "stopped") for one in found)
    assert all(env.closed == 1 for env in dice.Counter.made)


def test_a_first_rollout_that_fails_is_returned_alone(dice):
    class Dying(dice.Counter):
        def start(self):
            raise OSError("no sandbox")

    for start in (4, probe_split()):
        (one,) = play(dice, 1, env=Dying, from_start=start)
        assert one.ending == Ending("infra_error", "OSError: no sandbox")


def test_without_context_for_a_turn_no_branch_is_played(dice):
    attempt = dice.attempt(0, context=5)
    for start in (2, probe_split()):
        found = run_plan(branching(chance=CHANCE, total=4, from_start=start)(attempt), sample=dice.roll, measure=weigh)
        assert {one.ending.reason for one in found} == {"length"} and not any(one.turns for one in found)


@pytest.mark.parametrize(
    "wrong", [{"from_start": 9}, {"from_start": 0}, {"total": 0}, {"copies": 0}, {"first_tokens": 0}]
)
def test_arguments_out_of_range_are_errors(wrong):
    with pytest.raises(InputError, match="branching has"):
        branching(**{"chance": CHANCE, "total": 8} | wrong)


def test_an_environment_without_snapshots_is_an_error(dice):
    class Bare(dice.Counter):
        def snapshot(self):
            raise NotImplementedError

    with pytest.raises(InputError, match="cannot be forked"):
        play(dice, 1, env=Bare)
