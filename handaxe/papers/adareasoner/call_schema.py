"""Rewards calls by how far they fit the tools that are offered, turn by turn."""

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
"""Statuses by which a tool refuses what it was given, though it fits the schema."""


def call_schema() -> Reward:
    """Score every turn by its calls' fit to the schemas of the tools offered, 0 to 4, and average the turns.

        s(call) = 1                                        malformed: 0
                + 1                                        its name is that of a tool offered; else nothing more
                + |given and known| / |given or required|  parameter names
                + |accepted| / |given or required|         known parameters whose value fits their schema, through and
                                                           through; none where the tool refused the call
        s_n     = mean of s over the calls of turn n, malformed ones among them; 0 without a call
        R_i     = mean of s_1 .. s_N', N' the last turn with s_n > 0;  0 where there is none

    So the turns at the end that score nothing, such as the answer, are left out, and those between count. A call
    without any parameter, given or required, has both shares 1.

    Returns:
        A reward with outcome [G] in [0, 4] and turn_channels["call_schema"], per trajectory s [N].

    Example:
        turns that score 4, 2, 0 -> 3;  4, 0, 2 -> 2;  no call at all -> 0
        f(x: integer, y: integer), both required: f(x=1) -> 1 + 1 + 1/2 + 1/2 = 3;  f(x=1, y="a") -> 1 + 1 + 1 + 1/2;
        f(x=1, z=2) -> 1 + 1 + 1/3 + 1/3;  g(x=1) -> 1

    Paper: arXiv:2601.18631 (AdaReasoner), the tool score of its released code.
    Differs: the released tools look at what values say; here a value fits where the schema allows it and the tool does
    not refuse the call (status "retry" or "failed"). A turn may make several calls.
    Unconfirmed: what the two shares are shares of.
    """

    def score(trajectory: Trajectory) -> float:
        return _mean(_turns(trajectory))

    whole = outcome(score)

    def reward(group: Group) -> Scores:
        turns = tuple(np.array(_turns(one), dtype=np.float64) for one in group)
        return replace(whole(group), turn_channels={"call_schema": turns})

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
    asked = {*call.arguments, *parameters.get("required", ())}
    if not asked:
        return 4.0
    known = [name for name in call.arguments if name in properties]
    refused = reply is not None and reply.status in REFUSED
    accepted = (
        []
        if refused
        else [name for name in known if fits_schema(call.arguments[name], properties[name], root=parameters)]
    )
    return 2.0 + len(known) / len(asked) + len(accepted) / len(asked)
