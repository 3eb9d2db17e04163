"""VerlTool: trajectories alternate between model and tools on their own, and none waits for another one's tool."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.on_tokens import on_tokens
from handaxe.credit.total import total
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.ops.places import in_turn
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
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


def verltool(base: Method, *, lockstep: bool = False, turn_weight: float = 0.0) -> Method:
    """Train while tools really take their time; an attempt cut by a limit counts in its group and trains nothing.

    Differs: tools run in this process; a tool that dies ends its attempt unscored, where the paper's code shows the
    policy an error; the default of turns is 10 there.

    Args:
        lockstep: all attempts wait for each other, as in the synchronous rollout that the paper compares with.
        turn_weight: c of MT-GRPO, with which the tokens before the first reply are credited for the attempt's calls
            too: 0.3 for the share that ran, 0.05 for each. 1 in the repository, whose default estimator has none.
    """
    ran = weighted({"share": (0.3, tool_success()), "count": (0.05, tool_success(count=True))})
    first = on_tokens(group_norm(channel="calls"), where=in_turn(0))
    return replace(
        base,
        reward=weighted({"right": (1.0, base.reward), "calls": (0.0, ran)}),
        credit=total({"outcome": (1.0, base.credit), "first": (turn_weight, first)}),
        select=pipe(base.select, mask_overlong(reasons=("length", "turns"))),
        pace=replace(base.pace, lockstep=lockstep),
    )
