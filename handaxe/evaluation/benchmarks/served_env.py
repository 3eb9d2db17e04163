"""Environment of the world `toolbox` with the tool box in an MCP server, one session per rollout."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import handaxe
from handaxe import tools as toolkit
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import ParsedTurn, Task
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.evaluation.benchmarks.served_box import ServedBox
from handaxe.tools.deadline import Threads
from handaxe.tools.decorator import Tool
from handaxe.worlds.toolbox.box import ToolBox

__all__ = ["served_env", "served_tools"]

SERVERS = 4
"""Most server processes at the same time."""
STARTUP = 120.0
"""Seconds until a server must be ready."""
TIMEOUT = 120.0
"""Seconds of a call."""


def served_tools(attribute: str, *, command: Sequence[str] = ()) -> Callable[[], list[Tool]]:
    """Make the factory of the tools of `handaxe serve ATTRIBUTE`, a server process for each session.

    Args:
        attribute: MODULE:ATTRIBUTE, such as handaxe.evaluation.benchmarks.company_server:ProseServer.
        command: program and arguments instead of `handaxe serve`.

    Raises:
        InputError: the extra [mcp] is missing.
    """
    package = str(Path(handaxe.__file__).parents[1])
    cache = {name: os.environ[name] for name in ("HANDAXE_CACHE",) if name in os.environ}
    return toolkit.mcp(
        command=command or [sys.executable, "-m", "handaxe", "serve", attribute],
        env={"PYTHONPATH": package, **cache},
        servers=SERVERS,
        startup=STARTUP,
        timeout=TIMEOUT,
    )


def served_env(served: Callable[[], list[Tool]], local: type[ToolBox]) -> Callable[[Sequence[Any]], EnvFactory]:
    """Make the field `env` of a world `toolbox` with the tool box behind MCP sessions.

    Every rollout has a session of its own. A server that dies, or that does not answer, ends its rollout as
    infra_error.

    Args:
        served: factory of the tools of a new session, from `served_tools`. The server has `find_tools` and `call_tool`
            for the policy, and `open_task` and `read_state` as in `company_server`.
        local: the same tool box in this process, see `ServedBox`.
    """

    def env(tools: Sequence[Any]) -> EnvFactory:
        tool_chat(tools)  # raises early for bad tools

        def make(task: Task) -> _ServedEnv:
            box = ServedBox(served(), local)
            try:
                box.open(task.metadata["steps"])
                return _ServedEnv(task, tools, box)
            except BaseException:
                box.end()
                raise

        make.most = getattr(served, "most", None) or SERVERS  # type: ignore[attr-defined]
        return make

    return env


class _ServedEnv(AsyncEnvWrapper):
    """Conversation with the tools of a session; facts hold the state of the server after each turn with calls."""

    def __init__(self, task: Task, tools: Sequence[Any], box: ServedBox):
        super().__init__(tool_chat([lambda: box.offered, *tools])(task))
        self._box = box

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        reply = self.env.step(turn, seed=seed)
        if _continues(reply):
            self._box.read()
        return reply._replace(facts=self._box.report())

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        reply = await super().astep(turn, seed=seed, threads=threads)
        if _continues(reply):
            await self._box.aread(threads)
        return reply._replace(facts=self._box.report())

    def report(self) -> dict[str, Any]:
        return {**self.env.report(), "box": self._box.report()}

    def close(self) -> None:
        try:
            self.env.close()
        finally:
            self._box.end()


def _continues(reply: EnvReply) -> bool:
    """Whether calls may have changed the state, and the server has not failed."""
    return bool(reply.replies) and reply.ending is None
