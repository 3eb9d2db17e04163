"""VerlTool: trajectories alternate between model and tools on their own, and none waits for another one's tool."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.selection.pipe import pipe

__all__ = ["verltool"]

TITLE = "VerlTool: Towards Holistic Agentic Reinforcement Learning with Tool Use"
FASTER = "A step takes less time when no trajectory waits for another one's tool, as accurate."
RECIPE = Recipe(
    paper=Paper(TITLE, "VerlTool", "2509.01055", 33),
    claims=(Claim(FASTER, "training/step_seconds", "down", baseline="verltool --lockstep", same="pass@1"),),
    setting=Setting(wait=0.1),
)


def verltool(base: Method, *, lockstep: bool = False) -> Method:
    """Train while tools really take their time; an attempt cut by a limit counts in its group and trains nothing.

    Differs: tools run in this process; a tool that dies ends its attempt unscored, where the paper's code shows the
    policy an error; the default of turns is 10 there.

    Args:
        lockstep: all attempts wait for each other, as in the synchronous rollout that the paper compares with.
    """
    pace = replace(base.pace, lockstep=lockstep)
    return replace(base, select=pipe(base.select, mask_overlong(reasons=("length", "turns"))), pace=pace)
