from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Group, ToolReply
from handaxe.credit.group_norm import group_norm
from handaxe.evaluation.attack_trials import LabCase
from handaxe.ops.turn_tree import turn_tree
from handaxe.papers.portool.shared_steps import shared_steps
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.rewards.per_turn import per_turn
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"base": exact_match()}, {"base": exact_match(), "descendants": "max"}]
LAB = [
    LabCase(
        "shared_steps(...)",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: shared_steps(base=world.correct),
    ),
]
RIGHT = outcome(lambda trajectory: float(trajectory.env.get("right", 0)))


def forked(*members):
    """Trajectories by (id, number of turns, right, branch_of); every turn is one token, the first at 1."""
    made = [
        replace(make_trajectory(layouts=["Up" + " Tp" * (n - 1)], env={"right": right}), id=id, branch_of=at)
        for id, n, right, at in members
    ]
    return Group(made[0].task, tuple(made))


EXAMPLE = forked(("i", 2, 1, None), ("j", 3, 0, Branch("i", 0, 3)), ("k", 2, 0, None))


def test_shared_steps_equals_the_worked_example():
    scores = shared_steps(base=RIGHT, gamma=0.9, format_weight=0)(EXAMPLE)
    i, j, k = (own.tolist() for own in scores.turn_channels["step"])
    assert i == pytest.approx([0.45, 1]) and j == pytest.approx([0.45, 0, 0]) and k == [0, 0]
    assert scores.outcome.tolist() == [1, 0, 0] and scores.turns is None
    assert scores.channels["steps"].tolist() == pytest.approx([1.45 / 2, 0.45 / 3, 0])
    best = shared_steps(base=RIGHT, gamma=0.9, format_weight=0, descendants="max")(EXAMPLE)
    assert best.turn_channels["step"][1].tolist() == pytest.approx([0.9, 0, 0])


def test_the_shorter_of_two_correct_trajectories_has_the_larger_advantage():
    group = forked(("a", 2, 1, None), ("b", 3, 1, None), ("c", 4, 1, None))
    advantages = group_norm(channel="steps")(group, shared_steps(base=RIGHT)(group))
    short, middle, long = (own[0][group[i].sequences[0].mask][0] for i, own in enumerate(advantages.tokens))
    assert short > middle > long


def test_a_shared_turn_has_one_reward_and_forks_differ():
    scores = shared_steps(base=RIGHT)(EXAMPLE)
    tree = turn_tree(EXAMPLE)
    by_step = {}
    for own, values in zip(tree.nodes, scores.turn_channels["step"]):
        for step, value in zip(own, values):
            assert by_step.setdefault(step, value) == value
    assert len(set(by_step.values())) > 2


def test_executed_calls_add_and_failed_calls_subtract():
    members = [
        make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["4"], []]),
        make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[[ToolReply("0-0", "f", "no", "failed")], []]),
        make_trajectory(texts=["", "4"], errors=[["not JSON"], []]),
        make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[[ToolReply("0-0", "f", "", "infra_error")], []]),
    ]
    group = Group(members[0].task, tuple(replace(one, id=str(n)) for n, one in enumerate(members)))
    scores = shared_steps(base=RIGHT, format_weight=0.25)(group)
    assert [own.tolist() for own in scores.turn_channels["step"]] == [
        [0.25, 0.25], [-0.25, 0.25], [-0.25, 0.25], [0.25, 0.25],
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("descendants", ["mean", "max"])
def test_shared_steps_equals_a_slow_loop(seed, descendants):
    rng = np.random.default_rng(seed)
    members = [("a", 3, 1, None)]
    for n, name in enumerate("bcdef"):
        place = Branch(members[rng.integers(n + 1)][0], 0, int(rng.choice([1, 3])))
        members.append((name, 3 + int(rng.integers(2)), int(rng.integers(2)), place))
    group = forked(*[members[i] for i in rng.permutation(6)])
    scores = shared_steps(base=RIGHT, gamma=0.8, format_weight=0.5, descendants=descendants)(group)
    tree = turn_tree(group)
    for i, one in enumerate(group):
        for k, step in enumerate(tree.nodes[i]):
            ends = [0.8 ** (len(t.turns) - (k + 1)) * t.env["right"]
                    for t, own in zip(group, tree.nodes) if step in own.tolist()]  # fmt: skip
            slow = max(ends) if descendants == "max" else sum(ends) / len(ends)
            assert scores.turn_channels["step"][i][k] == pytest.approx(slow + 0.5)


def test_shared_steps_refuses_numbers_out_of_range():
    with pytest.raises(InputError, match="gamma=0"):
        shared_steps(base=RIGHT, gamma=0.0)
    with pytest.raises(InputError, match="per-turn"):
        shared_steps(base=per_turn(lambda one: [0.0] * len(one.turns)))(EXAMPLE)
