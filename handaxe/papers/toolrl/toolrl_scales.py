"""ToolRL's dynamic scales: the format counts most at first, and the calls in the end."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.graded_call import Grade, graded_call
from handaxe.rewards.parts.schedules import Change, shift
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["toolrl_scales"]


def toolrl_scales(
    base: Method,
    *,
    formats: Change = (2.0, 1.0),
    matches: Change = (0.67, 1.0),
    at: int = 0,
    over: int = 20,
    grade: Grade = "fine",
    scale: float = 3.0,
) -> Method:
    """Train as `toolrl` does, on calls and format, with weights that change.

    Args:
        formats: weight of the format at first and in the end; 1 and 0.5 in the paper's two stages.
        matches: weight of the calls at first and in the end; a third and 1 in the paper's two stages.
        at: step of the change; of 20 steps 6 are as 30 in the paper's two stages.
        over: steps of the change; 150 in the paper, longer than it trains; 0 is at once.
        grade, scale: of the calls, as in `toolrl`.
    """
    graded = graded_call(grade=grade, scale=scale, gold=base.world.need("reference"))
    match, form = shift(*matches, at=at, over=over), shift(*formats, at=at, over=over)
    return replace(base, reward=weighted({"calls": (match, graded), "format": (form, well_formed())}))
