"""Environment of worlds with a single decision: calls are recorded and never executed."""

from collections.abc import Sequence
from typing import Any

from handaxe.core.protocols import EnvFactory
from handaxe.envs.tool_choice import tool_choice
from handaxe.tools.decorator import Tool
from handaxe.tools.tool_owners import collect_tools, flatten_sources

__all__ = ["single_turn"]


def single_turn(tools: Sequence[Any]) -> EnvFactory:
    """Offer tools for one turn; the rollout ends without executing a call.

    Args:
        tools: tools or classes of tools, as for `tool_chat`.
    """
    made = [entry if isinstance(entry, Tool) else entry() for entry in flatten_sources(tools, whose="rollouts")]
    return tool_choice([tool.schema for tool in collect_tools(made)])
