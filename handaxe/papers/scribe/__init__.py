"""SCRIBE: every step of an attempt is held against the short rubric of the skill that it shows."""

from handaxe.methods.method import Method, replace
from handaxe.papers.scribe.lookup_skills import LOOKUP_RULES, LOOKUP_SKILLS, by_turn, lookup_or_answer
from handaxe.papers.scribe.skill_items import skill_check, skill_items
from handaxe.rewards.rubric_points import rubric_points
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["scribe"]


def scribe(base: Method, *, skills: float = 0.2, format: float = 0.1) -> Method:
    """Add to the outcome the mean over steps of what each meets of its skill's rubric, and the format.

    Args:
        skills: weight of the skills' part; 0 leaves it out.
        format: weight of calls that can be read.
    """
    items = skill_items(segments=by_turn, route=lookup_or_answer, skills=LOOKUP_SKILLS)
    middle = rubric_points(items=items, check=skill_check(LOOKUP_RULES), without=0.0)
    parts = {"correct": (1.0, base.reward), "skills": (skills, middle), "format": (format, well_formed())}
    return replace(base, reward=weighted(parts))
