"""VerlTool: trajectories alternate between model and tools on their own, and none waits for another one's tool."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.on_tokens import on_tokens
from handaxe.credit.total import total
from handaxe.methods.method import Method, replace
from handaxe.ops.places import in_turn
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.selection.pipe import pipe

__all__ = ["verltool"]


def verltool(base: Method, *, lockstep: bool = False, turn_weight: float = 0.0) -> Method:
    """Train while tools really take their time; an attempt cut by a limit counts in its group and trains nothing.

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
