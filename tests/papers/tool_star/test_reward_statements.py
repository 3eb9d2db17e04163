"""Questions about rewards, and groups of statements with the true one."""

import numpy as np
import pytest

from handaxe.core.records import Message, Scores, Task
from handaxe.papers.tool_star.best_against_worst import best_against_worst
from handaxe.papers.tool_star.reward_statements import (
    nearest_level,
    reward_statements,
    statement_tasks,
    statements_right,
)
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.sft.supervised import as_rated


def rated(*rewards):
    task = Task("t", (Message("user", "417 desk?"),), "52")
    made = [make_trajectory(id=f"r{k}", texts=[f"say {k}"], task=task) for k in range(len(rewards))]
    base = as_rated(made)
    return type(base).of(make_group(task=task, trajectories=made), Scores(np.array(rewards)), base.advantages)


@pytest.mark.parametrize(
    ("reward", "level"), [(1.1, "1.1"), (1.0, "1.0"), (0.6667, "1.0"), (0.4, "0.0"), (0.0, "0.0"), (-1.0, "-1.0")]
)
def test_levels(reward, level):
    assert nearest_level(reward) == level


def test_best_and_worst_of_a_group_are_asked_about():
    found = statement_tasks([rated(1.1, 0.0, 0.0, 1.0, np.nan)], terse=True)
    assert [(one.id, one.answer, one.tools) for one in found] == [
        ("t/0/0/reward", "1.1", ()),
        ("t/0/1/reward", "0.0", ()),
    ]
    text = found[0].messages[-1].content
    assert '"417 desk?"' in text and '"say 0"' in text and "-1.0, 0.0, 1.0, 1.1" in text and "52" not in text
    assert len(statement_tasks([rated(1.1, 0.0, 1.0)], terse=True, most=3)) == 3
    assert len(statement_tasks([rated(0.0, 0.0)], terse=False)) == 1


def test_a_group_has_the_statements_of_the_policy_and_the_true_one(world):
    states = ["1.0", "0.0", "what"]
    here = world.site(engine=world.Talking(lambda request: states[request.seed % 3]))
    right = []
    source = reward_statements(played=lambda site: [rated(1.0, 0.0)], group_size=6, right=right)
    groups = source(here)
    assert [one.group.task.answer for one in groups] == ["1.0", "0.0"]
    for one in groups:
        truth = one.group.task.answer
        said = [rollout.final_text for rollout in one.group]
        assert len(said) == 7 and said[-1] == truth
        assert list(one.scores.outcome) == [float(text == truth) for text in said]
    expected = np.mean([text == one.group.task.answer for one in groups for text in _own(one)])
    assert right == [pytest.approx(expected)] and 0 <= right[0] < 1
    for pair in best_against_worst()(groups):
        assert pair.chosen.final_text == pair.chosen.task.answer != pair.rejected.final_text


def _own(one):
    return [rollout.final_text for rollout in one.group][:-1]


def test_right_statements():
    assert statements_right([rated(1.0, 0.0), rated(0.0, 0.0)]) == 0.25 and np.isnan(statements_right([]))
