"""Tool boxes of the world `toolbox` for an MCP server; a client sends the task.

    handaxe serve handaxe.evaluation.benchmarks.company_server:ProseServer

A session has the tools of the policy, `find_tools` and `call_tool`, and two tools of the benchmark, which are hidden
from the policy.
"""

from __future__ import annotations

import json
from typing import Annotated

from handaxe.core.errors import Retry
from handaxe.tools.decorator import tool
from handaxe.worlds.toolbox.box import BriefBox, ToolBox
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue
from handaxe.worlds.toolbox.catalogue import full_catalogue

__all__ = ["BRIEF_RESULTS", "BriefServer", "PROSE_RESULTS", "ProseServer"]

PROSE_RESULTS = 5
"""Default number of tools in a search result, in prose."""
BRIEF_RESULTS = 1
"""Default number of tools in a search result, in the brief form."""


class _TaskBox(ToolBox):
    """Tool box with two tools for the benchmark."""

    @tool(timeout=None)
    def open_task(self, steps: Annotated[str, "steps of the task as JSON"]) -> str:
        """Begin a task."""
        given = json.loads(steps)
        if not isinstance(given, list):
            raise Retry("steps is no JSON list: send the steps of a task of the world toolbox")
        self._steps = given
        self.restore(((False,) * len(given), (False,) * len(given)))
        return f"{len(given)} steps"

    @tool(timeout=None)
    def read_state(self) -> dict[str, list[bool]]:
        """By step: whether a search result had the function ("found"), and whether the call was made ("made")."""
        return self.report()


class ProseServer(_TaskBox):
    """All tools of the package, under their names."""

    def __init__(self) -> None:
        super().__init__(full_catalogue(), (), results=PROSE_RESULTS)


class BriefServer(_TaskBox, BriefBox):
    """Tools of numbers, under short names."""

    def __init__(self) -> None:
        super().__init__(brief_catalogue(), (), results=BRIEF_RESULTS)
