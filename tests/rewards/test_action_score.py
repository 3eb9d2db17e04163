import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import ToolCall, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.action_score import action_score
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.hops.world import hops

LAB = [
    LabCase(
        "action_score(...)",
        hops,
        lambda world: action_score(gold=world.need("reference")),
        why=(
            "By the paper's formula a correct call pays and a wrong call costs nothing. Combine with "
            "`call_cost` behind a `gate`."
        ),
    ),
]


REFERENCE = [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]
F, G = ToolCall("f", {"x": 1}), ToolCall("g", {})
FOLD = ToolCall("fold_memory", {"summary": "s"})


def rollout(*calls, status="ok", ending="completed"):
    made = [ToolCall(call.name, call.arguments, f"c{k}") for k, call in enumerate(calls)]
    replies = [ToolReply(call.id, call.name, "", status) for call in made]
    return make_trajectory(texts=[""], calls=[made], replies=[replies], ending=ending, task=make_task(answer=REFERENCE))


SIBLINGS = make_group(trajectories=[rollout(F), rollout(G, F), rollout()], task=make_task(answer=REFERENCE))


def outcome(reward, *made):
    return reward(make_group(trajectories=made)).outcome.tolist()


def test_action_score_matches_the_docstring_example():
    assert outcome(action_score(), rollout(F, F, G), rollout(F, F, G, FOLD)) == [2, 2.5]


def test_each_reference_counts_once_and_wrong_calls_cost_nothing():
    wrong = ToolCall("f", {"x": 2})
    assert outcome(action_score(per_call=2.0), rollout(F, F, F), rollout(wrong, G), rollout()) == [2, 2, 0]


def test_a_successful_fold_of_a_completed_rollout_counts_once():
    made = [rollout(FOLD, FOLD), rollout(FOLD, status="retry"), rollout(FOLD, ending="truncated"), rollout()]
    assert outcome(action_score(), *made) == [0.5, 0, 0, 0]
    assert outcome(action_score(fold_tool="g"), rollout(G), rollout(FOLD)) == [1.5, 0]


def test_a_task_without_reference_calls_is_an_error():
    with pytest.raises(TaskError):
        outcome(action_score(), make_trajectory(texts=[""], task=make_task(answer=None)))
