"""handaxe trains language models to use tools, with reinforcement learning."""

from handaxe.errors import Failed, HandaxeError, Retry
from handaxe.records import Group, Message, Scores, Task, Trajectory

__all__ = ["Failed", "Group", "HandaxeError", "Message", "Retry", "Scores", "Task", "Trajectory"]
__version__ = "0.1.0"
