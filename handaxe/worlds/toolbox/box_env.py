"""Environment of a tool box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handaxe.core.records import Task
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.worlds.toolbox.box import CallBox

__all__ = ["BoxEnv"]


class BoxEnv(AsyncEnvWrapper):
    """Conversation with tools; facts hold the state of the tool box."""

    def __init__(self, task: Task, tools: Sequence[Any], box: CallBox):
        super().__init__(tool_chat([lambda: box, *tools])(task))
        self._box = box

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(facts=self._box.report())

    def report(self) -> dict[str, Any]:
        return {**self.env.report(), "box": self._box.report()}
