"""Environment wrapper that replies with a hint to an answer without a tool call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.images import name_images
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.tools.deadline import Threads

__all__ = ["HINT", "hinted", "tool_hint"]

HINT = "hint"
"""`Message.name` of a hint."""


def tool_hint(task: Task) -> str:
    """Hint that repeats the last opening message after an instruction."""
    question = task.messages[-1]
    return f"Use a tool. {name_images(question.content, question.images)}"


def hinted(env: EnvFactory, *, hint: Callable[[Task], str] = tool_hint) -> EnvFactory:
    """Wrap an environment: reply with one hint if the policy answers without a tool call.

        the first turn, if it has no call, well formed or not     a user message with the hint; the rollout continues
        any other turn                                            the reply of `env`

    `env` does not receive the turn before the hint. The policy reads the hint and never trains on it; its message has
    the name "hint".

    Args:
        env: environment to wrap.
        hint: task -> text of the hint.

    Returns:
        An EnvFactory, `protocols.Bounded` if `env` is. Its report has "hinted", whether the hint was given.

    Example:
        "14" to the question "2*7=?" gets the reply "Use a tool. 2*7=?"; the next answer ends the rollout

    Idea: hints after answers without tools produce rollouts with tools, as in arXiv:2505.16410 (Tool-Star), which
    inserts them into the policy's own text.
    """

    def factory(task: Task) -> _Hinted:
        said = hint(task)  # first, so that nothing is open where it raises
        return _Hinted(env(task), said)

    return inherit_bound(factory, env)


class _Hinted(AsyncEnvWrapper):
    def __init__(self, env: Env, hint: str):
        super().__init__(env)
        self.hint = hint
        self.first, self.given = True, False

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self._hint(turn) or super().step(turn, seed=seed)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        return self._hint(turn) or await super().astep(turn, seed=seed, threads=threads)

    def report(self) -> Mapping[str, Any]:
        return {**super().report(), "hinted": self.given}

    def snapshot(self) -> Any:
        return self.first, self.given, super().snapshot()

    def restore(self, state: Any) -> None:
        self.first, self.given, inner = state
        super().restore(inner)

    def _hint(self, turn: ParsedTurn) -> EnvReply | None:
        """The hint for a first turn without a call, else None."""
        first, self.first = self.first, False
        if not first or turn.calls or turn.errors:
            return None
        self.given = True
        return EnvReply((Message("user", self.hint, name=HINT),))
