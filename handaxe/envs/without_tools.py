"""An environment as it is, in which no tool is offered."""

from dataclasses import replace

from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Task
from handaxe.envs.bounded_as import bounded_as

__all__ = ["without_tools"]


def without_tools(env: EnvFactory) -> EnvFactory:
    """Make environments that offer no tool, whatever the task names, to see what a policy knows without them.

    A call is answered as one of a tool that does not exist.

    Args:
        env: of which `Task.tools` decides what is offered, as of tool_chat.

    Example:
        probe(label="without", arguments={"env": without_tools(world.env(world.tools))})
    """

    def factory(task: Task) -> Env:
        return env(replace(task, tools=()))

    return bounded_as(factory, env)
