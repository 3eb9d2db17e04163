"""Branching and trees under a real policy, a real driver and tools that take their time; then their gradient, their
record and their replay."""

import numpy as np
import pytest
import torch

from handaxe.core.records import Ending, Group, Message, PlayedGroup, RatedGroup, Sampling, Scores, Task
from handaxe.core.requests import Attempt
from handaxe.core.validation import check_group
from handaxe.credit.group_norm import group_norm
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.slow import slow
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy as policy_loss
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.load import load
from handaxe.ops.turn_tree import shared_turn_count
from handaxe.papers.aepo.probe_split import probe_split
from handaxe.papers.portool.tree import tree
from handaxe.rollouts.branch_chance import branch_chance
from handaxe.rollouts.branching import branching
from handaxe.rollouts.driver import run
from handaxe.tools.calculator import calculator
from handaxe.training.loop.batch import make_batch
from handaxe.training.record.run_record import RunRecord
from handaxe.training.replay import Setup, replay

pytestmark = pytest.mark.exact

STOPPED = Ending("truncated", "stopped")
SAMPLING = Sampling(1.0, max_tokens=24)
CHANCE = branch_chance(vocabulary=264, base=0.9, weight=1.0)
ROLLOUTS = {
    "branching": branching(chance=CHANCE, total=6, from_start=4),
    "probing": branching(chance=CHANCE, total=6, from_start=probe_split(), copies=2),
    "tree": tree(total=8, fork_most=3),
}
KEYS = ("ids", "author", "turn", "version")


@pytest.fixture(scope="module")
def tiny():
    """In float64, so that what is computed together changes no draw."""
    model, format = load("tiny")
    model.module.double()
    return LocalEngine(model), format


def attempts(format, count=3, *, env=None):
    tasks = [Task(f"t{i}", (Message("user", f"{12 + i}*34=?"),)) for i in range(count)]
    env = env or tool_chat([calculator])
    return [Attempt(task, env, format, SAMPLING, f"0/{task.id}/0", 0, 7 + i, 512) for i, task in enumerate(tasks)]


def same(one, other):
    for mine, theirs in zip(one.sequences, other.sequences, strict=True):
        for key in KEYS:
            np.testing.assert_array_equal(getattr(mine, key), getattr(theirs, key))
    assert (one.id, one.seed, one.branch_of, one.ending) == (other.id, other.seed, other.branch_of, other.ending)
    assert [reply.content for reply in one.replies] == [reply.content for reply in other.replies]


@pytest.mark.parametrize("name", ROLLOUTS)
def test_order_of_tool_replies_has_no_effect(tiny, name):
    """One worker, or six that wait as long as chance will have it, or in lockstep."""
    engine, format = tiny
    plain = run(attempts(format), ROLLOUTS[name], engine, workers=1)
    late = slow(tool_chat([calculator]), median=0.01, sigma=1.5)
    for later in (
        run(attempts(format, env=late), ROLLOUTS[name], engine, workers=6),
        run(attempts(format)[::-1], ROLLOUTS[name], engine, workers=3, lockstep=True)[::-1],
    ):
        for found, again in zip(plain, later, strict=True):
            for one, other in zip(found, again, strict=True):
                same(one, other)
    assert sum(shared_turn_count(one) > 0 for found in plain for one in found) >= 2, "there are branches to compare"


def rated(found, credit):
    """A group of those that were not given up, each worth what its last bytes add up to."""
    kept = tuple(one for one in found if one.ending != STOPPED)
    group = Group(kept[0].task, kept)
    scores = Scores(np.array([float(one.sequences[-1].ids[-6:].sum() % 7) for one in kept]))
    return RatedGroup.of(group, scores, credit(group, scores))


def gradient(groups, packing):
    model, _ = load("tiny")
    model.module.double()
    engine = LocalEngine(model, packing=packing)
    batch = make_batch(groups, pad_id=engine.pad_id, dtype=torch.float64)
    engine.forward_backward(batch, policy_loss(ratio=token(), surrogate=clip(), reduction=token_mean()))
    return {name: p.grad.clone() for name, p in model.module.named_parameters() if p.grad is not None}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["branching", "tree"])
def test_token_trees_give_the_gradient_of_rows(tiny, name):
    """Packed as trees or as plain rows."""
    engine, format = tiny
    played = run(attempts(format, 2), ROLLOUTS[name], engine)
    assert any(shared_turn_count(one) for found in played for one in found)
    plain = gradient([rated(found, group_norm()) for found in played], "rows")
    assert max(float(g.abs().max()) for g in plain.values()) > 1e-3
    groups = [rated(found, group_norm()) for found in played]
    for packing in ("tree", "rows"):
        for key, value in gradient(groups, packing).items():
            torch.testing.assert_close(value, plain[key], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ROLLOUTS)
def test_recorded_branches_replay_without_differences(tiny, name, tmp_path):
    engine, format = tiny
    played = [Group(found[0].task, tuple(found)) for found in run(attempts(format, 3), ROLLOUTS[name], engine)]
    with RunRecord(tmp_path) as record:
        record.write_step(0, [PlayedGroup(group) for group in played], {})
    with RunRecord.open(tmp_path) as record:
        recorded = [one.group for one in record.groups()]
    setup = Setup(ROLLOUTS[name], format, tool_chat([calculator]), SAMPLING, context=512, tools=True)
    for group in recorded:
        check_group(group)
        for one in replay(group, setup):
            assert not one.differences
    assert name != "tree" or any(one.ending == STOPPED for group in recorded for one in group)
