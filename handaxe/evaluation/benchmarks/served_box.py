"""Client of a tool box in an MCP server."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handaxe.core.errors import InfrastructureError
from handaxe.core.images import Image
from handaxe.core.records import ToolCall, ToolReply
from handaxe.tools.deadline import Threads
from handaxe.tools.decorator import Tool
from handaxe.tools.definition import ToolContext
from handaxe.worlds.toolbox.box import ToolBox

__all__ = ["ServedBox"]

HIDDEN = ("open_task", "read_state")
"""Tools of the benchmark, hidden from the policy."""
STATE = ToolCall("read_state", {}, "state")


class ServedBox:
    """Client of a tool box in an MCP server.

    Args:
        session: tools of a new session.
        local: the same tool box in this process. Arguments of the policy are checked by its tools, so that a call is
            accepted or refused as in this process, with the same text.

    Attributes:
        offered: tools of the policy.

    Raises:
        InfrastructureError: the server has other tools.
    """

    def __init__(self, session: Sequence[Tool], local: type[ToolBox]):
        self._session = session[0].owner
        self._tools = {one.schema.name: one for one in session}
        offered: list[Tool] = [local.find_tools, local.call_tool]
        missing = [name for name in HIDDEN if name not in self._tools]
        missing += [one.schema.name for one in offered if self._schema(one.schema.name) != one.schema]
        if missing:
            self.end()
            raise InfrastructureError(f"the server of the tool box has no tools {missing}, or other ones of that name")
        self.offered = [_ServedTool(self._tools[one.schema.name], one, self) for one in offered]
        self._size = 0
        self._state: dict[str, list[bool]] = {"found": [], "made": []}

    def open(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Send the steps of a task.

        Raises:
            InfrastructureError: the server does not accept the steps.
        """
        self._size = len(steps)
        call = ToolCall("open_task", {"steps": json.dumps(list(steps))}, "open")
        _content(self._tools["open_task"].run(call))
        self._state = {"found": [False] * self._size, "made": [False] * self._size}

    def read(self) -> None:
        """Read the state of the server.

        Raises:
            InfrastructureError: the server does not answer, or the answer is no state of the task.
        """
        self._take(self._tools["read_state"].run(STATE))

    async def aread(self, threads: Threads) -> None:
        """Read the state of the server from an event loop; otherwise as `read`."""
        self._take(await self._tools["read_state"].arun(STATE, threads=threads))

    def report(self) -> dict[str, list[bool]]:
        """State at the last reading: `found` and `made` for each step."""
        return {name: list(values) for name, values in self._state.items()}

    def end(self) -> None:
        """End the session."""
        self._session.close()

    def _schema(self, name: str) -> Any:
        return self._tools[name].schema if name in self._tools else None

    def _take(self, reply: ToolReply) -> None:
        text = _content(reply)
        try:
            state = json.loads(text)
            known = {name: [one for one in state[name] if isinstance(one, bool)] for name in self._state}
        except (ValueError, TypeError, LookupError):
            known = {}
        if not known or any(len(values) != self._size for values in known.values()):
            raise InfrastructureError(f"the server of the tool box sent no state of {self._size} steps: {text[:200]!r}")
        self._state = known


class _ServedTool(Tool):
    """Tool of a session with the checks of a tool in this process.

    The owner is not the session: the session ends with the rollout, and not with the check of the tools.
    """

    def __init__(self, served: Tool, local: Tool, owner: ServedBox):
        super().__init__(
            served.function,
            local.definition,
            timeout=served.timeout,
            timeout_is=served.timeout_is,
            cost=served.cost,
            max_chars=local.max_chars,
            drop=local.drop,
            method=False,
        )
        self.owner = owner

    def prepare(
        self, call: ToolCall, *, seed: int, tried: int = 0, images: tuple[Image, ...] = ()
    ) -> Callable[[], Any]:
        """Bind the call of the server to valid arguments."""
        del tried
        valid = self.definition.arguments.model_validate(dict(call.arguments))
        arguments = dict(zip(self.definition.parameters, (value for _, value in valid), strict=True))
        return functools.partial(self.function, arguments, ToolContext(call.id, seed, images))


def _content(reply: ToolReply) -> str:
    if reply.status != "ok":
        raise InfrastructureError(f"{reply.name} of the tool box: {reply.content}")
    return reply.content
