"""Tool-Star (arXiv:2505.16410), at inference: a code debugger, and a backtracer of failed tool calls."""

from handaxe.core.records import Task, ToolCall
from handaxe.methods.method import Method, replace
from handaxe.papers.tool_star.code_debugger import asked_debugger, code_debugger, reference_debugger
from handaxe.papers.tool_star.inference_use import inference_use
from handaxe.rollouts.resample_failed_turn import resample_failed_turn
from handaxe.training.stages.sources import played

__all__ = ["tool_star_inference"]


def tool_star_inference(
    base: Method,
    *,
    debugger: bool = True,
    backtracer: bool = True,
    retries: int = 2,
    rewind_tokens: int = 20,
    measured: int = 64,
) -> Method:
    """Train as the base does; in evaluations, debug failed calls, and resample turns whose call fails nevertheless.

    The debugger is the reference call of the world, or the language model of --judge.

    Args:
        debugger: execute a corrected call in place of a failed one.
        backtracer: return to the text before a failed call, and sample again.
        retries: resamples of a failed turn. Unconfirmed.
        rewind_tokens: tokens before the call that are resampled, too. Unconfirmed.
        measured: rollouts after training in which the use of both is counted.
    """
    turns = base.settings.max_turns
    rollout = base.world.make_rollout(turns)
    if backtracer:
        rollout = resample_failed_turn(retries=retries, back=rewind_tokens, max_turns=turns)
    if debugger:
        desk = base.judge.texts()
        debug = reference_debugger(base.world.reference or _none) if desk is None else asked_debugger(desk)
        rollout = code_debugger(rollout=rollout, debug=debug)
    source = played(groups=measured, group_size=1, arguments={"rollout": rollout})
    return replace(base, evaluate_rollout=rollout, closing=(*base.closing, inference_use(source=source)))


def _none(task: Task) -> tuple[ToolCall, ...]:
    del task
    return ()
