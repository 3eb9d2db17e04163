"""Reward reflection: the best program of a round with the components' curves."""

from collections.abc import Sequence

from handaxe.training.stages.parts.program_search import TASK, Feedback, FeedbackMaker, ProgramTrial, best_trial

__all__ = ["reflection"]

HEAD = "The policy was trained with this program. Values over the steps of the training, and their extremes:"
TIPS = """\
If the task's values are near 0 throughout, write a new program.
If the values of a component are nearly constant, rescale, rewrite or drop the component.
If a component is much larger than all others, rescale the component."""


def reflection(*, component_curves: bool = True) -> FeedbackMaker:
    """Make feedback of a round's best program.

        good = the first program of the round's highest score
        text = program, curves of task, turns and components with maximum, mean and minimum, and tips

    Args:
        component_curves: False leaves all curves but the task's out, as in the paper's comparison without reflection.

    Returns:
        Feedback for `search_programs`; None for a round in which every program failed, so that the next round starts
        from the same request.

    Example:
        task 0.1, 0.3 and component "ok" 1, 1 -> lines "task: 0.10, 0.30, max 0.30, mean 0.20, min 0.10" and
        "component/ok: 1.00, 1.00, max 1.00, mean 1.00, min 1.00"

    Paper: arXiv:2310.12931 (Eureka), section 3.3.
    Differs: the tips are in other words; the traceback of a round in which every program failed is not returned.
    """

    def feedback(trials: Sequence[ProgramTrial], past: Sequence[Feedback], seed: int) -> Feedback | None:
        del past, seed
        best = best_trial(trials)
        if best is None:
            return None
        kept = best.curves if component_curves else {TASK: best.curves[TASK]}
        good = best._replace(curves=kept)
        curves = [_curve_line(name, values) for name, values in kept.items()]
        return Feedback(good, None, "\n".join([good.text, HEAD, *curves, TIPS]))

    return feedback


def _curve_line(name: str, values: Sequence[float]) -> str:
    """A curve in words: values, maximum, mean and minimum, with two digits."""
    shown = ", ".join(f"{value:.2f}" for value in values)
    return f"{name}: {shown}, max {max(values):.2f}, mean {sum(values) / len(values):.2f}, min {min(values):.2f}"
