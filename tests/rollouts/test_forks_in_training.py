"""What becomes of branches after they are played: credit, batch and record (trap 31)."""

import numpy as np
import pytest

from handaxe.core.records import Branch, Group, RatedGroup, Scores
from handaxe.core.validation import check_group
from handaxe.credit.group_norm import group_norm
from handaxe.ops.turn_tree import total_usage
from handaxe.papers.cleaner.repairing import repairing
from handaxe.papers.portool.tree import tree
from handaxe.papers.rex_rag.resample_with_prefix import resample_with_prefix
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.branching import branching
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.turn_starts import turn_starts
from handaxe.training.loop.batch import make_batch
from handaxe.training.record.run_record import RunRecord


@pytest.fixture
def group(dice):
    """A trunk of three turns or more and its three branches."""
    for seed in range(50):
        attempt = dice.attempt(seed)
        made = run_plan(forking(at=turn_starts(count=3))(attempt), sample=dice.roll)
        if len(made) == 4:
            return Group(attempt.task, tuple(made))
    raise AssertionError


def rate(group, outcome):
    scores = Scores(np.array(outcome, float))
    return RatedGroup.of(group, scores, group_norm(std=None)(group, scores))


def test_a_shared_token_trains_in_each_branch_with_its_advantage(group):
    """Outcomes 1, 0, 3, 0 have advantages 0, -1, 2, -1. All but the first branch share turn 0 with the trunk."""
    check_group(group)
    rated = rate(group, [1, 0, 3, 0])
    batch = make_batch([rated], pad_id=0)
    first = group[0].turns[0]
    for row, shares in enumerate([True, False, True, True]):
        alike = list(group[row].sequences[0].ids[: first.stop]) == list(group[0].sequences[0].ids[: first.stop])
        assert alike or not shares
        assert batch.mask_BT[row, first.start] and batch.adv_BT[row, first.start] == [0, -1, 2, -1][row]
    sharing = [0, 2, 3]
    assert batch.adv_BT[sharing, first.start].sum() == 1, "the gradient of what three rows share: 0 + 2 - 1"
    assert batch.denominators.tokens == sum(t.num_tokens for t in group), "and it is counted in each of them"
    assert batch.denominators.rollouts == 4


def test_run_record_keeps_fork_points(group, tmp_path):
    with RunRecord(tmp_path) as record:
        record.write_step(0, [rate(group, [1, 0, 3, 0])], {})
    with RunRecord.open(tmp_path) as record:
        (found,) = record.groups()
    check_group(found.group)
    assert [t.branch_of for t in found.group] == [t.branch_of for t in group]
    for one, other in zip(found.group, group):
        np.testing.assert_array_equal(one.sequences[0].mask, other.sequences[0].mask)


STRATEGIES = {
    "forking at turns": forking(at=turn_starts(count=3)),
    "forking within turns": forking(at=lambda trunk: [Branch(trunk.id, t.sequence, t.start + 1) for t in trunk.turns]),
    "branching": branching(chance=lambda more, streak: 0.7, total=6, from_start=2),
    "tree": tree(total=4, fork_most=3),
    "probing": resample_with_prefix(correct=outcome(lambda one: 0.0), probes=["0", "01"], chance=1.0),
    "repairing": repairing(),
}


def weigh(name, request):
    return {name: [0.5] * (len(request.ids) - request.start) for name in request.names}


@pytest.mark.parametrize("name", STRATEGIES)
def test_total_usage_equals_sampled_tokens_and_executed_calls(dice, name):
    forks = 0
    for seed in range(30):
        drawn, asked = [], []

        def sample(_, request):
            made = dice.roll("", request)
            drawn.append(len(made.ids) - (0 if request.prefix is None else len(request.prefix.ids)))
            return made

        def act(_, request):
            asked.append(len(request.turn.calls))
            return request.env.step(request.turn, seed=request.seed)

        attempt = dice.attempt(seed)
        made = run_plan(STRATEGIES[name](attempt), sample=sample, act=act, measure=weigh)
        used = total_usage(Group(attempt.task, tuple(made)))
        unanswered = sum(len(one.turns[-1].parsed.calls) for one in made if not one.turns[-1].replies)
        assert (used.tokens, used.calls) == (sum(drawn), sum(asked) + unanswered)
        forks += sum(one.branch_of is not None for one in made)
    assert forks > 2 or name == "repairing"
