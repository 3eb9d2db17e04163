"""ToolRL (arXiv:2504.13958), dynamic scales: shift the weight from the format to the calls during training."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.toolrl.scale_effect import scale_effect
from handaxe.rewards.parts.schedules import Change, shift

__all__ = ["toolrl_scales"]


def toolrl_scales(
    base: Method,
    *,
    format_weights: Change = (2.0, 1.0),
    call_weights: Change = (0.67, 1.0),
    start_step: int = 0,
    ramp_steps: int = 20,
) -> Method:
    """Reward calls and format as `toolrl` does, with weights that change from a first to a last value.

    Channel "moved" has the change of rewards, relative to their group, against the last weights.

    Args:
        format_weights: weights of the format; 2, 1 in the paper's smooth schedule, 1, 0.5 in its two stages.
        call_weights: weights of the calls; 0.67, 1 in the smooth schedule, 0.33, 1 in the two stages.
        start_step: step at which the change starts; 30 in the two stages, or 6 of 20 steps.
        ramp_steps: steps of the change; 150 in the smooth schedule, 0 for two stages.

    Example:
        weights of format and calls: 2 and 0.67 at step 0, 1.5 and 0.835 at step 10, 1 and 1 from step 20

    Paper: arXiv:2504.13958 (ToolRL), dynamic scales.
    """
    calls = rewards.graded_call(grade="fine", scale=3.0, gold=base.world.need("reference"))
    call_weight = shift(*call_weights, at=start_step, over=ramp_steps)
    format_weight = shift(*format_weights, at=start_step, over=ramp_steps)
    parts = {"calls": (call_weight, calls), "format": (format_weight, rewards.well_formed())}
    moved = scale_effect(parts=parts, last={"calls": call_weights[1], "format": format_weights[1]})
    return replace(base, reward=rewards.weighted({**parts, "moved": (0.0, moved)}))
