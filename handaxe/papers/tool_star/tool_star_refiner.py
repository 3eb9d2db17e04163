"""Tool-Star (arXiv:2505.16410), at inference: a chain refiner for rollouts at their limit of turns."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tool_star.inference_rollout import inference_rollout
from handaxe.papers.tool_star.inference_use import inference_use
from handaxe.training.stages.sources import played

__all__ = ["tool_star_refiner"]


def tool_star_refiner(base: Method, *, measured: int = 64) -> Method:
    """Train as the base does; in evaluations, prune chains at the limit of turns, and go on.

    Args:
        measured: rollouts of the first policy in which refined chains are counted.
    """
    rollout = inference_rollout(
        base.world, max_turns=base.settings.max_turns, desk=None, debugger=False, backtracer=False
    )
    source = played(groups=measured, group_size=1, arguments={"rollout": rollout})
    return replace(base, evaluate_rollout=rollout, stages=(*base.stages, inference_use(source=source)))
