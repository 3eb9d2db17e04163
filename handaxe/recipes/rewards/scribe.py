"""SCRIBE: every step of an attempt is held against the short rubric of the skill that it shows."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.parts.lookup_skills import LOOKUP_RULES, LOOKUP_SKILLS, by_turn, lookup_or_answer
from handaxe.rewards.parts.skill_items import skill_check, skill_items
from handaxe.rewards.rubric_points import rubric_points
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.hops import hops

__all__ = ["scribe"]

TITLE = "SCRIBE: Structured Mid-Level Supervision for Tool-Using Language Models"
PLAIN = "scribe --skills 0"
HARD = ("hops", 3)
RECIPE = Recipe(
    paper=Paper(TITLE, "SCRIBE", "2601.03555", 215),
    claims=(
        Claim("More right answers than without the skills' part.", "pass@1", "up", baseline=PLAIN, vice=0.9),
        Claim("So where 3 hops are needed, too.", "pass@1", "up", baseline=PLAIN, where=HARD, vice=0.9),
    ),
    base=grpo,
    world=hops,
    setting=Setting(model="start", max_turns=6),
)


def scribe(base: Method, *, skills: float = 0.2, format: float = 0.1) -> Method:
    """Add to the outcome the mean over steps of what each meets of its skill's rubric, and the format.

    Unconfirmed: the weights and the formula. Differs: two skills are written by hand and checked by rule, where the
    paper mines them and asks a language model; questions compare nothing, so that there is no skill of comparing. A
    language model as judge would take hours of a run of minutes, so its scores' spread is computed apart, by
    `handaxe study scribe_judge`, and no run under an open question is compared with.

    Args:
        skills: weight of the skills' part; 0 leaves it out.
        format: weight of calls that can be read.
    """
    items = skill_items(segments=by_turn, route=lookup_or_answer, skills=LOOKUP_SKILLS)
    middle = rubric_points(items=items, check=skill_check(LOOKUP_RULES), without=0.0)
    parts = {"correct": (1.0, base.reward), "skills": (skills, middle), "format": (format, well_formed())}
    return replace(base, reward=weighted(parts))
