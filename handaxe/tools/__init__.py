"""Tools: typed functions with a docstring that a policy can call. One tool per file."""

from handaxe.rooms import open_room
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.schema import Billed, ToolContext

__all__ = ["Billed", "Tool", "ToolContext", "tool"]

open_room(__name__)
