from dataclasses import replace

import numpy as np
import pytest

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Group
from handaxe.core.usage import Usage
from handaxe.papers.archer.replayed_states import replayed_states
from handaxe.papers.cleaner.repairing import repairing
from handaxe.papers.flow_grpo.from_memory import from_memory
from handaxe.papers.ipa.rollback_starts import rollback_starts
from handaxe.papers.rex_rag.resample_with_prefix import resample_with_prefix
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.restarting import restarting
from handaxe.testing.make_records import make_rated, make_scores


@pytest.fixture
def recorded(dice):
    for seed in range(80):
        (one,) = run_plan(linear(max_turns=6)(dice.attempt(seed)), sample=dice.roll)
        if len(one.turns) >= 4:
            return one
    raise AssertionError


def play(dice, rollout, n=0, *, step=0, env=None):
    made = dice.attempt(100 + n, env=env or dice.Counter, id=f"t/{step}/{n}")
    attempt = replace(made, step=step, sibling=n, siblings=4)
    (one,) = run_plan(rollout(attempt), sample=dice.roll)
    records.check(one)
    return one


def test_restarting_shares_recorded_turns_and_continues_differently(dice, recorded):
    group = [play(dice, restarting(starts=lambda attempt: (recorded, 2), share=1.0, max_turns=6), n) for n in range(4)]
    assert all(one.turns[:2] == recorded.turns[:2] and one.branch_of.trajectory == recorded.id for one in group)
    assert len({tuple(one.sequences[0].ids) for one in group}) > 1


def test_without_share_or_start_it_equals_linear(dice, recorded):
    def never(attempt):
        raise AssertionError("it is not asked")

    for starts, share in ((never, 0.0), (lambda attempt: None, 1.0)):
        rollout = restarting(starts=starts, share=share, max_turns=6)
        one, plain = play(dice, rollout), play(dice, linear(max_turns=6))
        np.testing.assert_array_equal(one.sequences[0].ids, plain.sequences[0].ids)
        assert one.branch_of is None and one.total_usage is None


def test_siblings_start_at_one_place_while_the_store_changes(dice, recorded):
    places = iter([(recorded, 1), (recorded, 2), None])
    rollout = restarting(starts=lambda attempt: next(places), share=1.0, max_turns=6)
    first = [play(dice, rollout, n) for n in range(3)]
    assert {one.branch_of.token for one in first} == {recorded.turns[1].start}
    assert play(dice, rollout, step=1).branch_of.token == recorded.turns[2].start
    assert play(dice, rollout, step=2).branch_of is None
    assert play(dice, rollout, 3).branch_of.token == recorded.turns[1].start, "a retry of the first step's group"


def test_spread_siblings_start_at_different_turns(dice, recorded):
    """K = 3: siblings 0 to 3 have 3, 2, 1 and 3 recorded turns."""
    rollout = restarting(starts=lambda attempt: (recorded, 3), share=1.0, spread=True, max_turns=6)
    for sibling, turn in enumerate([3, 2, 1, 3]):
        one = play(dice, rollout, sibling)
        assert one.branch_of.token == recorded.turns[turn].start and one.turns[:turn] == recorded.turns[:turn]


def test_share_is_the_fraction_of_groups(dice, recorded):
    rollout = restarting(starts=lambda attempt: (recorded, 2), share=0.25, max_turns=6)
    began = [[play(dice, rollout, n, step=step).branch_of is not None for n in range(2)] for step in range(60)]
    assert all(len(set(group)) == 1 for group in began)
    assert 6 <= sum(group[0] for group in began) <= 26
    other = restarting(starts=lambda attempt: (recorded, 2), share=0.25, max_turns=6, seed=1)
    assert began != [[play(dice, other, n, step=step).branch_of is not None for n in range(2)] for step in range(60)]


def test_unanswered_plays_one_turn_without_environment(dice, recorded):
    dice.Counter.made.clear()
    rollout = restarting(starts=lambda attempt: (recorded, 2), share=1.0, answered=False, max_turns=6)
    one = play(dice, rollout)
    assert not dice.Counter.made and len(one.turns) == 3 and one.turns[:2] == recorded.turns[:2]
    assert one.ending in (Ending("truncated", "turns"), Ending("truncated", "length"))
    own = one.turns[2]
    assert one.usage == Usage(own.stop - own.start, 0, own.seconds, own.cost), "no call was made"


@pytest.mark.parametrize("make", [rollback_starts, replayed_states])
def test_stores_offer_resumable_trajectories_only(dice, make):
    """Attempts that began a new sequence are not stored; those with forced words, with repaired turns and broken off
    are, and others begin in them."""

    class Remembering(dice.Counter):
        def step(self, turn, *, seed):
            reply = super().step(turn, seed=seed)
            short = ["ok" if len(call.arguments["x"]) > 1 else "failed" for call in turn.calls]
            replies = tuple(replace(one, status=status) for one, status in zip(reply.replies, short))
            return reply._replace(replies=replies, facts={"memory": "so far"})

        def restore(self, state):
            self.sums = list(state)

    never = outcome(lambda one: 0.0)
    strategies = {
        "memory": from_memory(max_turns=6),
        "probed": resample_with_prefix(correct=never, probes=["111", "11"], chance=1.0, max_turns=6),
        "repaired": repairing(retries=1, max_turns=6),
        "short": linear(max_turns=2),
    }
    made = {name: [] for name in strategies}
    for name, rollout in strategies.items():
        for seed in range(60):
            attempt = dice.attempt(seed, env=Remembering, id=f"{name}/{seed}")
            made[name] += run_plan(rollout(attempt), sample=dice.roll)
    taken = {
        name: [replace(one, branch_of=None) for one in found if len(one.turns) > 1] for name, found in made.items()
    }
    assert any(one.notes.get("anew") for one in taken["memory"])
    assert any(sequence.forced.any() for one in taken["probed"] for sequence in one.sequences)
    assert any(one.notes.get("repaired") for one in taken["repaired"])
    assert any(one.ending == Ending("truncated", "turns") for one in taken["short"])
    kept, began = set(), 0
    for name, found in taken.items():
        for one in found:
            store = make()
            group = Group(one.task, (one,))
            store.learn([make_rated(group=group, scores=make_scores([1.0]))], step=0)
            if store.stored:
                kept.add(name)
                for step in range(4):
                    again = play(dice, restarting(starts=store, share=1.0, max_turns=6), step=step, env=Remembering)
                    assert again.ending.kind != "infra_error", again.ending
                    began += again.branch_of is not None
    assert kept == {"probed", "repaired", "short"} and began > 100


def test_a_start_after_max_turns_plays_no_turn(dice, recorded):
    one = play(dice, restarting(starts=lambda attempt: (recorded, 3), share=1.0, max_turns=3))
    assert one.turns == recorded.turns[:3] and one.ending == Ending("truncated", "turns")


def test_a_share_out_of_range_is_an_error():
    with pytest.raises(InputError, match="share"):
        restarting(starts=lambda attempt: None, share=1.5)
