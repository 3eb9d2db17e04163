"""Environment wrapper with perfect tool retrieval: a search of any words finds the needed tool."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import ParsedTurn, Task, ToolCall
from handaxe.envs.wrapper import AsyncEnvWrapper

__all__ = ["gold_retrieval"]


def gold_retrieval(env: EnvFactory) -> EnvFactory:
    """Wrap environments of the world `toolbox`: replace the words of every search.

    A search takes the words that find the tool of the first step without a correct call. After the last step, and for
    every other call, nothing changes.

    Args:
        env: of the world `toolbox`, or with the tools in an MCP server.

    Example:
        find_tools("something else") in a task about areas becomes find_tools("area of a circle with radius 3")

    Paper: arXiv:2510.19286 (TheMCPCompany), agents with ground-truth tools.
    Differs: the tools are results of searches instead of the tools of the agent, so that the turns of both are equal.
    """

    def make(task: Task) -> Env:
        return _GoldEnv(env(task), task)

    return make


class _GoldEnv(AsyncEnvWrapper):
    def __init__(self, env: Env, task: Task):
        super().__init__(env)
        self._steps = task.metadata["steps"]

    def transform_turn(self, turn: ParsedTurn) -> ParsedTurn:
        made = self.env.report()["box"]["made"]
        needed = next((step["query"] for step, done in zip(self._steps, made, strict=True) if not done), None)
        if needed is None:
            return turn
        return replace(turn, calls=tuple(_searching(call, needed) for call in turn.calls))


def _searching(call: ToolCall, query: str) -> ToolCall:
    if call.name != "find_tools":
        return call
    return replace(call, arguments={**call.arguments, "query": query})
