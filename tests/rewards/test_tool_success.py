import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.rewards.tool_success import tool_success
from handaxe.testing.records import make_group, make_trajectory

CONTRACT = [{}, {"per": "turn"}, {"count": True}]


def attempt(*statuses):
    replies = [ToolReply(f"0-{i}", "f", "", status) for i, status in enumerate(statuses)]
    return make_trajectory(texts=[""], calls=[["f"] * len(replies)], replies=[replies])


def outcome(reward, *attempts):
    return reward(make_group(trajectories=attempts)).outcome.tolist()


def test_example():
    assert outcome(tool_success(), attempt("ok", "failed", "ok"), attempt()) == [pytest.approx(0.6667, abs=5e-5), 0]


def test_a_count_is_of_those_that_ran():
    assert outcome(tool_success(count=True), attempt("ok", "failed", "ok"), attempt(), attempt("failed")) == [2, 0, 0]


def test_every_status():
    every = attempt("ok", "retry", "failed", "invalid", "timeout", "infra_error")
    assert outcome(tool_success(), every, attempt("infra_error")) == [0.2, 0]


def test_replies_of_all_turns_count():
    two = make_trajectory(texts=["", ""], calls=[["f"], ["f"]], replies=[["1"], [ToolReply("1-0", "f", "", "failed")]])
    assert outcome(tool_success(), two) == [0.5]


def test_without_calls():
    assert outcome(tool_success(without_calls=1.0), attempt(), make_trajectory(layouts=["UUt"])) == [1, 1]


def test_by_turn():
    failed = ToolReply("1-0", "f", "", "failed")
    one = make_trajectory(
        texts=["", "", ""], calls=[["f"], ["f", "f"], []], replies=[["1"], [failed, ToolReply("1-1", "f", "2")], []]
    )
    scores = tool_success(per="turn")(make_group(trajectories=[one]))
    assert scores.turns[0].tolist() == [1, 0.5, 0] and scores.outcome.tolist() == [0]
    lost = make_trajectory(texts=[""], calls=[["f"]], replies=[[ToolReply("0-0", "f", "", "infra_error")]])
    assert tool_success(per="turn", without_calls=0.3)(make_group(trajectories=[lost])).turns[0].tolist() == [0.3]
    with pytest.raises(InputError, match="per attempt or per turn"):
        tool_success(per="call")
