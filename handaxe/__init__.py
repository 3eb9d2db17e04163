"""handaxe trains language models to use tools, with reinforcement learning."""

from handaxe.errors import Failed, HandaxeError, Retry
from handaxe.records import Group, Message, Scores, Task, Trajectory
from handaxe.tools import tool

__all__ = ["Failed", "Group", "HandaxeError", "Message", "Retry", "Scores", "Task", "Trajectory", "tool"]
__version__ = "0.1.0"
