from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Advantages, Branch, Ending, Group, Message, RatedGroup, Scores
from handaxe.core.usage import Usage
from handaxe.methods.batch_difference import batch_difference, rollout_marks, unplayable_rollouts
from handaxe.testing.make_records import make_trajectory


def rated(*advantages, trains=None, ids=None):
    """A group with rollouts of one turn; every trained token of a rollout has one advantage."""
    rollouts = tuple(make_trajectory(id=name) for name in ids or [f"r{k}" for k in range(len(advantages))])
    tokens = tuple(
        tuple(np.where(s.mask, value, 0.0) for s in one.sequences) for one, value in zip(rollouts, advantages)
    )
    masks = (
        None
        if trains is None
        else tuple(tuple(s.mask & chosen for s in one.sequences) for one, chosen in zip(rollouts, trains))
    )
    group = Group(rollouts[0].task, rollouts)
    return RatedGroup.of(group, Scores(np.zeros(len(rollouts))), Advantages(tokens, trains=masks))


def test_equal_batches_differ_by_0():
    assert batch_difference([rated(1, -1)], [rated(1, -1)]) == 0


def test_mask_of_half_of_the_tokens_differs_by_a_half():
    assert batch_difference([rated(1, -1, trains=[True, False])], [rated(1, -1)]) == 0.5


def test_another_advantage_counts_and_rounding_does_not():
    assert batch_difference([rated(1, -1, 0, 2)], [rated(1, -1, 0, 3)]) == 0.25
    assert batch_difference([rated(1, -1)], [rated(1 + 1e-12, -1)]) == 0


def test_missing_group_counts_in_full():
    assert batch_difference([rated(1)], [rated(1), rated(1, ids=["other"])]) == 0.5
    assert batch_difference([], [rated(1)]) == 1


def test_foreign_and_stopped_rollouts_count_with_all_their_tokens():
    one = rated(1, -1)
    tokens = one.group[0].num_tokens
    assert batch_difference([one], [one], foreign={"r0"}) == 0.5
    assert batch_difference([one], [one], stopped=2 * tokens) == 0.5


def test_channel_of_advantages_counts():
    one = rated(1, -1)
    channel = {"second": tuple(tuple(x * (k == 0) for x in own) for k, own in enumerate(one.advantages.tokens))}
    assert batch_difference([replace(one, advantages=replace(one.advantages, channels=channel))], [one]) == 0.5


def test_batches_without_trained_tokens_compare_rollouts():
    assert batch_difference([], [], rollouts=["a", "b"], foreign={"b"}) == 0.5
    assert batch_difference([], []) == 0


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        ({"branch_of": Branch("r9", 0, 2)}, "fork"),
        ({"total_usage": Usage(tokens=9)}, "taken back"),
        ({"aux_turns": (replace(make_trajectory(), by="user"),)}, ("auxiliary turn", "user")),
        ({"messages": (Message("system", "Be brief."),)}, ("opening", (("system", "Be brief."),))),
    ],
    ids=["fork", "taken back", "auxiliary turn", "opening"],
)
def test_rollout_with_a_mark_that_the_base_lacks_is_not_playable(change, mark):
    plain = make_trajectory(id="plain")
    found = replace(plain, id="changed", **change)
    assert mark in rollout_marks(found) and mark not in rollout_marks(plain)
    assert unplayable_rollouts([found, plain], [plain]) == {"changed"}
    assert unplayable_rollouts([found], [plain, found]) == set()


def test_rollout_at_a_lower_limit_of_turns_is_not_playable():
    short = replace(make_trajectory(id="short"), ending=Ending("truncated", "turns"))
    longer = replace(short, id="longer", turns=short.turns * 2)
    assert unplayable_rollouts([short], [longer]) == {"short"}
    assert unplayable_rollouts([longer], [short]) == set()
