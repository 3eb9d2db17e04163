"""Tool-Star (arXiv:2505.16410), at inference: code debugger, backtracer of failed tool calls, and chain refiner."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tool_star.inference_rollout import inference_rollout
from handaxe.papers.tool_star.inference_use import inference_use
from handaxe.training.stages.sources import played

__all__ = ["tool_star_inference"]


def tool_star_inference(
    base: Method,
    *,
    debugger: bool = True,
    backtracer: bool = True,
    refiner: bool = True,
    retries: int = 2,
    rewind_tokens: int = 20,
    measured: int = 64,
) -> Method:
    """Train as the base does; in evaluations, debug calls, resample turns that fail nevertheless, and refine chains.

    The debugger is the reference call of the world, or the language model of --judge.

    Args:
        debugger: execute a corrected call in place of a failed one.
        backtracer: return to the text before a failed call, and sample again.
        refiner: prune redundant exchanges of a chain at its limit of turns, and go on.
        retries: resamples of a failed turn. Unconfirmed.
        rewind_tokens: tokens before the call that are resampled, too. Unconfirmed.
        measured: rollouts of the first policy in which the use of the tools is counted.
    """
    rollout = inference_rollout(
        base.world,
        max_turns=base.settings.max_turns,
        desk=base.judge.texts(),
        debugger=debugger,
        backtracer=backtracer,
        refiner=refiner,
        retries=retries,
        back=rewind_tokens,
    )
    source = played(groups=measured, group_size=1, arguments={"rollout": rollout})
    return replace(base, evaluate_rollout=rollout, stages=(*base.stages, inference_use(source=source)))
