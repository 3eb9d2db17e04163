"""Reward for how well tool calls fit the schemas of the offered tools, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, ToolCall, ToolReply, ToolSchema, Trajectory, Turn
from handaxe.papers.adareasoner.schema_fit import fits_schema
from handaxe.rewards.outcome import outcome

__all__ = ["call_schema"]

REFUSED = frozenset({"retry", "failed"})
"""Statuses with which a tool rejects arguments that fit its schema."""


def call_schema() -> Reward:
    """Score each turn by the fit of its calls to the offered tool schemas, 0 to 4, and average over turns.

        s(call) = 1                                        malformed: 0
                + 1                                        if the tool is offered; else nothing more
                + |given and known| / |given or required|  parameter names
                + |accepted| / |given or required|         known parameters with a value that fits its schema at every
                                                           depth; 0 if the tool rejected the call
        s_n     = mean of s over the calls of turn n, malformed calls included; 0 without a call
        R_i     = mean of s_1 .. s_N', N' the last turn with s_n > 0;  0 without such a turn

    Trailing turns that score 0, such as the answer, are left out; turns between scored turns count. A call with neither
    given nor required parameters has both shares 1.

    Returns:
        A reward with outcome [G] in [0, 4] and turn_channels["call_schema"], per trajectory s [N].

    Example:
        turns that score 4, 2, 0 -> 3;  4, 0, 2 -> 2;  no call at all -> 0
        f(x: integer, y: integer), both required: f(x=1) -> 1 + 1 + 1/2 + 1/2 = 3;  f(x=1, y="a") -> 1 + 1 + 1 + 1/2;
        f(x=1, z=2) -> 1 + 1 + 1/3 + 1/3;  g(x=1) -> 1

    Paper: arXiv:2601.18631 (AdaReasoner), the tool score of its released code.
    Differs: the released tools check the content of values; here a value fits if the schema allows it and the tool does
    not reject the call (status "retry" or "failed"). A turn may make several calls.
    Unconfirmed: the denominators of the two shares.
    """

    def score(trajectory: Trajectory) -> float:
        return _mean(_turns(trajectory))

    outcome_reward = outcome(score)

    def reward(group: Group) -> Scores:
        turns = tuple(np.array(_turns(one), dtype=np.float64) for one in group)
        return replace(outcome_reward(group), turn_channels={"call_schema": turns})

    return reward


def _mean(turns: list[float]) -> float:
    last = max((number for number, value in enumerate(turns, 1) if value > 0), default=0)
    return sum(turns[:last]) / last if last else 0.0


def _turns(trajectory: Trajectory) -> list[float]:
    tools = {tool.name: tool for tool in trajectory.tools}
    return [_of_turn(turn, tools) for turn in trajectory.turns]


def _of_turn(turn: Turn, tools: Mapping[str, ToolSchema]) -> float:
    replies = {reply.call_id: reply for reply in turn.replies}
    found = [_of_call(call, tools, replies.get(call.id)) for call in turn.parsed.calls]
    made = len(found) + len(turn.parsed.errors)
    return sum(found) / made if made else 0.0


def _of_call(call: ToolCall, tools: Mapping[str, ToolSchema], reply: ToolReply | None) -> float:
    if call.name not in tools:
        return 1.0
    parameters = tools[call.name].parameters
    properties = parameters.get("properties", {})
    expected = {*call.arguments, *parameters.get("required", ())}
    if not expected:
        return 4.0
    known = [name for name in call.arguments if name in properties]
    refused = reply is not None and reply.status in REFUSED
    accepted = (
        []
        if refused
        else [name for name in known if fits_schema(call.arguments[name], properties[name], root=parameters)]
    )
    return 2.0 + len(known) / len(expected) + len(accepted) / len(expected)
