"""Enforced limits on the calls of each tool, with messages about remaining calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolReply, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.envs.wrapper import EnvWrapper
from handaxe.papers.bats.budget_tracker import budget_policy, budget_tracker
from handaxe.rollouts.budget import SPEAKER

__all__ = ["ToolLedger", "limited_tools"]


@dataclass
class ToolLedger:
    """Calls of each tool under limits, over all environments that share the ledger.

    limits    largest number of executed calls by tool; other tools are unlimited
    used      executed calls by tool
    refused   calls beyond a limit, by tool

    Raises:
        InputError: a limit is below 0.
    """

    limits: Mapping[str, int]
    used: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if wrong := {tool: limit for tool, limit in self.limits.items() if limit < 0}:
            raise InputError(f"limits of tools are 0 or more: {wrong}")

    def admits(self, tool: str) -> bool:
        """Count a call as used, or as refused if the limit of the tool is reached."""
        admitted = tool not in self.limits or self.used[tool] < self.limits[tool]
        (self.used if admitted else self.refused)[tool] += 1
        return admitted

    @property
    def remaining(self) -> dict[str, int]:
        """Calls left, by limited tool."""
        return {tool: limit - self.used[tool] for tool, limit in self.limits.items()}

    @property
    def exhausted(self) -> bool:
        """True if a limited tool has no call left."""
        return any(left == 0 for left in self.remaining.values())


def limited_tools(env: EnvFactory, ledger: ToolLedger, *, tell: bool) -> EnvFactory:
    """Refuse calls beyond the limits, and tell the policy the remaining calls.

        opening            + user message: regimes and the tracker          if tell
        each tool result   + user message: "TOOL used: x, remaining: y"     if tell

    A call beyond the limit is not executed: its reply has the status "invalid", after the replies of the turn's other
    calls. Used calls stay used if the environment is restored to a snapshot.

    Args:
        env: inner environment.
        ledger: counts all calls; environments of several attempts may share one.
        tell: False enforces the limits without a word to the policy.

    Example:
        limits {"find": 1}, two calls of find in a turn: the second is answered "no call of find is left"

    Paper: arXiv:2511.17006 (BATS), section 3: hard limits by tool, and the tracker after each tool response.
    Differs: nothing.
    """
    return lambda task: _LimitedTools(env(task), task, ledger, tell)


class _LimitedTools(EnvWrapper):
    def __init__(self, env: Env, task: Task, ledger: ToolLedger, tell: bool):
        super().__init__(env)
        self.task = task
        self.ledger = ledger
        self.tell = tell

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        messages, tools = super().start()
        if not self.tell:
            return messages, tools
        return (*messages, Message("user", f"{budget_policy()}\n{self._block()}", name=SPEAKER)), tools

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        admitted = [self.ledger.admits(call.name) for call in turn.calls]
        calls = tuple(call for call, fits in zip(turn.calls, admitted, strict=True) if fits)
        refused = [call for call, fits in zip(turn.calls, admitted, strict=True) if not fits]
        alone = bool(refused) and not calls and not turn.errors
        reply = EnvReply() if alone else super().step(replace(turn, calls=calls), seed=seed)
        if reply.done:
            return reply
        messages = [Message("tool", _refusal(call.name), call_id=call.id, name=call.name) for call in refused]
        messages += [Message("user", self._block(), name=SPEAKER)] if self.tell else []
        replies = [ToolReply(call.id, call.name, _refusal(call.name), "invalid") for call in refused]
        return reply._replace(messages=(*reply.messages, *messages), replies=(*reply.replies, *replies))

    def _block(self) -> str:
        return budget_tracker(self.ledger.used, self.ledger.limits)


def _refusal(tool: str) -> str:
    return f"no call of {tool} is left"
