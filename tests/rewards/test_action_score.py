import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import ToolCall, ToolReply
from handaxe.rewards.action_score import action_score
from handaxe.testing.records import make_group, make_task, make_trajectory

REFERENCE = [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]
F, G = ToolCall("f", {"x": 1}), ToolCall("g", {})
FOLD = ToolCall("fold_memory", {"summary": "s"})


def attempt(*calls, status="ok", ending="completed"):
    made = [ToolCall(call.name, call.arguments, f"c{k}") for k, call in enumerate(calls)]
    replies = [ToolReply(call.id, call.name, "", status) for call in made]
    return make_trajectory(texts=[""], calls=[made], replies=[replies], ending=ending, task=make_task(answer=REFERENCE))


SIBLINGS = make_group(trajectories=[attempt(F), attempt(G, F), attempt()], task=make_task(answer=REFERENCE))


def outcome(reward, *made):
    return reward(make_group(trajectories=made)).outcome.tolist()


def test_example():
    assert outcome(action_score(), attempt(F, F, G), attempt(F, F, G, FOLD)) == [2, 2.5]


def test_each_reference_counts_once_and_nothing_is_taken_for_wrong_calls():
    wrong = ToolCall("f", {"x": 2})
    assert outcome(action_score(per_call=2.0), attempt(F, F, F), attempt(wrong, G), attempt()) == [2, 2, 0]


def test_a_fold_counts_once_where_it_worked_and_the_attempt_was_completed():
    made = [attempt(FOLD, FOLD), attempt(FOLD, status="retry"), attempt(FOLD, ending="truncated"), attempt()]
    assert outcome(action_score(), *made) == [0.5, 0, 0, 0]
    assert outcome(action_score(fold_tool="g"), attempt(G), attempt(FOLD)) == [1.5, 0]


def test_no_reference():
    with pytest.raises(TaskError):
        outcome(action_score(), make_trajectory(texts=[""], task=make_task(answer=None)))
