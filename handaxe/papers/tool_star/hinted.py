"""Any environment, made to meet an answer that no call came before with a hint, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task
from handaxe.core.requests import EnvReply
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.wrapped import AsyncWrapped
from handaxe.tools.deadline import Threads

__all__ = ["HINT", "ask_again", "hinted"]

HINT = "hint"
"""The `Message.name` of a hint."""


def ask_again(task: Task) -> str:
    """The hint that says the last opening message once more, after a word."""
    return f"Use a tool. {task.messages[-1].content}"


def hinted(env: EnvFactory, *, hint: Callable[[Task], str] = ask_again) -> EnvFactory:
    """Make an environment that answers as `env` does, but gives a policy that answers without a call a second chance.

        the first turn, where it holds no call, well formed or not    a user message with the hint; the attempt goes on
        any other turn                                                what `env` says

    `env` never hears of the turn that was met with the hint. The policy reads the hint and never trains on it; its
    message has the name "hint".

    Args:
        env: what answers.
        hint: what is said, given the task.

    Returns:
        An EnvFactory, `slots.Bounded` where `env` is. Its report holds "hinted", whether the hint was given.

    Example:
        "14" to the question "2*7=?" is met with "Use a tool. 2*7=?"; the answer after that ends the attempt

    Idea: hints where a policy did without tools make attempts with tools, as in arXiv:2505.16410 (Tool-Star), which
    puts them into the policy's own words.
    """

    def factory(task: Task) -> _Hinted:
        said = hint(task)  # first, so that nothing is open where it raises
        return _Hinted(env(task), said)

    return bounded_as(factory, env)


class _Hinted(AsyncWrapped):
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
        """The hint, where this turn is to be met with it."""
        first, self.first = self.first, False
        if not first or turn.calls or turn.errors:
            return None
        self.given = True
        return EnvReply((Message("user", self.hint, name=HINT),))
