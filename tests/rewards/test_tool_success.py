from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.tool_success import tool_success
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{}, {"per": "turn"}, {"count": True}]
LAB = [
    LabCase("tool_success()", partial(arithmetic, easy=0.0, mistakes=True), lambda world: tool_success()),
]


def rollout(*statuses):
    replies = [ToolReply(f"0-{i}", "f", "", status) for i, status in enumerate(statuses)]
    return make_trajectory(texts=[""], calls=[["f"] * len(replies)], replies=[replies])


def outcome(reward, *rollouts):
    return reward(make_group(trajectories=rollouts)).outcome.tolist()


def test_tool_success_matches_the_docstring_example():
    assert outcome(tool_success(), rollout("ok", "failed", "ok"), rollout()) == [pytest.approx(0.6667, abs=5e-5), 0]


def test_count_returns_the_number_of_successes():
    assert outcome(tool_success(count=True), rollout("ok", "failed", "ok"), rollout(), rollout("failed")) == [2, 0, 0]


def test_only_ok_counts_and_infrastructure_errors_are_left_out():
    every = rollout("ok", "retry", "failed", "invalid", "timeout", "infra_error")
    assert outcome(tool_success(), every, rollout("infra_error")) == [0.2, 0]


def test_replies_of_all_turns_count():
    two = make_trajectory(texts=["", ""], calls=[["f"], ["f"]], replies=[["1"], [ToolReply("1-0", "f", "", "failed")]])
    assert outcome(tool_success(), two) == [0.5]


def test_without_calls_the_fixed_reward_is_given():
    assert outcome(tool_success(without_calls=1.0), rollout(), make_trajectory(layouts=["UUt"])) == [1, 1]


def test_per_turn_shares_are_attached_to_turns():
    failed = ToolReply("1-0", "f", "", "failed")
    one = make_trajectory(
        texts=["", "", ""], calls=[["f"], ["f", "f"], []], replies=[["1"], [failed, ToolReply("1-1", "f", "2")], []]
    )
    scores = tool_success(per="turn")(make_group(trajectories=[one]))
    assert scores.turns[0].tolist() == [1, 0.5, 0] and scores.outcome.tolist() == [0]
    lost = make_trajectory(texts=[""], calls=[["f"]], replies=[[ToolReply("0-0", "f", "", "infra_error")]])
    assert tool_success(per="turn", without_calls=0.3)(make_group(trajectories=[lost])).turns[0].tolist() == [0.3]
    with pytest.raises(InputError, match="per rollout or per turn"):
        tool_success(per="call")
