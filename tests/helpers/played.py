"""A group that a script played with one tool, through the driver and the byte-level format, without a model."""

from handaxe.core.records import Group, Sampling
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine


def play(task, tool, script, *, step=0, samples=3):
    """The group of siblings, each of which says the script."""
    env = tool_chat([tool])
    _, schemas = env(task).start()
    engine = ScriptedEngine(Compact(), script, tools=schemas)
    same = {"task": task, "env": env, "format": Compact(), "sampling": Sampling(), "context": 8192}
    attempts = [Attempt(id=f"{step}/{task.id}/{k}", sample=k, seed=k, **same) for k in range(samples)]
    played = run(attempts, linear(), engine, workers=1)
    return Group(task, tuple(trajectory for found in played for trajectory in found), step)
