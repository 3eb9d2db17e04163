import pytest

from handaxe.core.records import Message, Task, ToolCall, ToolReply
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.domain_features.trace_features import TRACE_FEATURES, trace_features
from handaxe.testing.make_records import make_trajectory
from handaxe.training.sft.scripted import trajectory_from_messages

TASK = Task("t", (Message("user", "3*4 ="),), "12")


def rollout(expression, reply, answer, task=TASK):
    said = (
        *TASK.messages,
        Message("assistant", "", (ToolCall("calculator", {"expression": expression}, id="a"),)),
        Message("tool", reply, call_id="a", name="calculator"),
        Message("assistant", answer),
    )
    return trajectory_from_messages(Compact(), said, task=task)


def values(one):
    return dict(zip([feature.name for feature in TRACE_FEATURES], trace_features()(one), strict=True))


def test_features_by_hand():
    found = values(rollout("3*4", "12", "12"))
    assert {name: found[name] for name in ("calls", "failures", "in_reply", "covered", "is_number", "finished")} == {
        "calls": 1, "failures": 0, "in_reply": 1, "covered": 1, "is_number": 1, "finished": 1
    }  # fmt: skip
    assert found["length"] == rollout("3*4", "12", "12").num_tokens


@pytest.mark.parametrize(
    "expression, answer, name, wanted",
    [("3*5", "12", "covered", 0.5), ("3*4", "13", "in_reply", 0), ("3*4", "it is 12", "is_number", 0)],
)
def test_a_feature_sees_its_fault(expression, answer, name, wanted):
    assert values(rollout(expression, "12", answer))[name] == wanted


def test_failures_and_rollouts_without_a_call():
    failed = make_trajectory(texts=["", "7"], calls=[["f"], []], replies=[[ToolReply("0-0", "f", "7", "failed")], []])
    found = values(failed)
    assert found["failures"] == 0.5 and found["in_reply"] == 0
    silent = values(make_trajectory(texts=["12"]))
    assert (silent["calls"], silent["covered"], silent["in_reply"]) == (0, 0, 0)


def test_the_reference_answer_is_not_read():
    other = Task("t", TASK.messages, "99", metadata={"expression": "9*11"})
    assert values(rollout("3*4", "12", "12", other)) == values(rollout("3*4", "12", "12"))
