import numpy as np
import pytest

from handaxe.core.records import ToolCall
from handaxe.papers.ui_genie.step_lessons import step_lessons
from handaxe.testing.make_records import make_task, make_trajectory

FIRST, SECOND = (make_task(id=name, metadata={"right": name}) for name in ("a", "b"))
ONE = make_trajectory(
    texts=["", ""],
    calls=[[ToolCall("click", {"at": "a"})], [ToolCall("click", {"at": "x"})]],
    replies=[[""], [""]],
    task=FIRST,
)
TWO = make_trajectory(texts=[""], calls=[[ToolCall("click", {"at": "b"})]], replies=[[""]], task=SECOND)


def verdicts(one):
    places = [turn.parsed.calls[0].arguments["at"] for turn in one.turns]
    return np.array([1.0 if place == one.task.metadata["right"] else -1.0 for place in places])


class Kind:
    """A judge that accepts every action at task a."""

    def score_steps(self, group):
        return tuple(np.full(len(one.turns), 0.3 if one.task.id == "a" else -0.3) for one in group)


def spelled(labels):
    return [(one.task.id, one.turns[0].parsed.calls[0].arguments["at"], turn, right) for one, turn, right in labels]


RULE = [("a", "a", 0, True), ("a", "a", 1, False), ("b", "b", 0, True)]
MOVED = [("b", "a", 0, False), ("a", "b", 0, False)]


def test_rules_substitutions_and_hard_negatives_are_labelled():
    assert spelled(step_lessons(verdicts=verdicts, substituted=False)([ONE, TWO])) == RULE
    assert spelled(step_lessons(verdicts=verdicts)([ONE, TWO])) == RULE + MOVED
    hard = [("a", "a", 1, False), ("a", "b", 0, False)]
    assert spelled(step_lessons(verdicts=verdicts, accepts=Kind())([ONE, TWO])) == RULE + MOVED + hard


def test_an_action_that_is_correct_at_the_other_task_is_no_negative():
    same = make_task(id="c", metadata={"right": "a"})
    other = make_trajectory(texts=[""], calls=[[ToolCall("click", {"at": "a"})]], replies=[[""]], task=same)
    labels = step_lessons(verdicts=verdicts)([ONE, other])
    assert [right for _, _, right in labels] == [True, False, True]


def test_one_task_has_no_substitution():
    assert spelled(step_lessons(verdicts=verdicts)([ONE, ONE])) == [*RULE[:2], *RULE[:2]]
    assert step_lessons(verdicts=verdicts, accepts=Kind())([]) == []


@pytest.mark.parametrize("count", [2, 3])
def test_no_substituted_action_stays_at_its_task(count):
    tasks = [make_task(id=str(k), metadata={"right": str(k)}) for k in range(count)]
    given = [
        make_trajectory(texts=[""], calls=[[ToolCall("click", {"at": task.id})]], replies=[[""]], task=task)
        for task in tasks
    ]
    moved = spelled(step_lessons(verdicts=verdicts)(given))[count:]
    assert len(moved) == count and all(task != at for task, at, _, _ in moved)
