"""Environment wrapper that offers no tool."""

from dataclasses import replace

from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Task
from handaxe.envs.inherit_bound import inherit_bound

__all__ = ["without_tools"]


def without_tools(env: EnvFactory) -> EnvFactory:
    """Make environments without tools, regardless of `Task.tools`, to measure a policy's accuracy without tools.

    A call is answered as a call to an unknown tool.

    Args:
        env: environment factory that offers the tools in `Task.tools`, such as `tool_chat`.

    Example:
        probe(label="without", arguments={"env": without_tools(world.env(world.tools))})
    """

    def factory(task: Task) -> Env:
        return env(replace(task, tools=()))

    return inherit_bound(factory, env)
