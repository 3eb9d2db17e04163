"""ToolRL's dynamic scales: the format counts most at first, and the calls in the end."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.graded_call import Grade, graded_call
from handaxe.rewards.parts.schedules import Change, shift
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.calls import calls

__all__ = ["toolrl_scales"]

NOTE = "Unconfirmed: the finding is quoted from memory."
STAGES = "toolrl_scales --formats 1 0.5 --matches 0.33 1 --at 6 --over 0"
RECIPE = Recipe(
    paper=Paper("ToolRL: Reward is All Tool Learning Needs", "ToolRL, scales", "2504.13958", 12),
    claims=(
        Claim("Better calls than with weights that change at once.", "pass@1", "up", baseline=STAGES, note=NOTE),
        Claim("Better calls than with weights that stay.", "pass@1", "up", baseline="toolrl", note=NOTE),
    ),
    world=calls,
    setting=Setting(max_turns=1, max_tokens=64),
)


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

    Differs: as `toolrl`.

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
