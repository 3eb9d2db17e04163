from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.calibrated.false_replies import false_replies
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "a channel without weight, for the figure that shows the mechanism at work"


def rollout(expression, content, status="ok"):
    call = ToolCall("calculator", {"expression": expression})
    return make_trajectory(
        texts=["", "1 c5"], calls=[[call], []], replies=[[ToolReply("0-0", "calculator", content, status)], []]
    )


SIBLINGS = make_group(trajectories=[rollout("12*34", "408"), rollout("12*34", "1015"), rollout("12*", "1", "failed")])


def test_false_replies_are_found():
    tries = [rollout("12*34", "408"), rollout("12*34", "1015"), rollout("12*34", "tool failed", "failed")]
    silent = make_trajectory(texts=["408 c5"])
    assert list(false_replies()(make_group(trajectories=[*tries, silent])).outcome) == [0, 1, 0, 0]


def test_a_reply_to_a_malformed_expression_is_false():
    assert list(false_replies()(make_group(trajectories=[rollout("12*", "408")])).outcome) == [1]
