"""Constants of the method reasoning_sql_feedback, and its reward by hand."""

import pytest

pytest.importorskip("sqlglot")

from helpers.methods import made

from handaxe.core.records import Group
from handaxe.testing.make_records import make_trajectory

ABOUT_REWARDS = True


def test_only_wrong_queries_are_graded():
    """Reference: expression, table and condition. A further condition is 3 of 4 clauses, another table none but one."""
    method = made("reasoning_sql_feedback", "--model", "tiny")
    partial = made("reasoning_sql", "--model", "tiny")
    task = next(one for one in method.world.tasks("train", 40, 0) if one.metadata["kind"] == "filter")
    other = "town" if " ship " in task.answer else "ship"
    queries = (task.answer, f"{task.answer} and name = 'nobody'", f"select name from {other}", "select nothing at all")
    group = Group(task, tuple(make_trajectory(texts=[f"<sql>{query}</sql>"], task=task) for query in queries))
    scores = method.reward(group)
    feedback = scores.channels["feedback"]
    assert method.world.correct(group).outcome.tolist() == [1, 0, 0, 0]
    assert feedback.tolist() == pytest.approx([0, 3 / 4, 1 / 4, 0], abs=1e-12)
    assert scores.outcome == pytest.approx(partial.reward(group).outcome + 2 * feedback, abs=1e-12)
