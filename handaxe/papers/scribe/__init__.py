"""SCRIBE (arXiv:2601.03555): check each step against the short rubric of its skill."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.scribe.lookup_skills import LOOKUP_RULES, LOOKUP_SKILLS, lookup_or_answer, single_turns
from handaxe.papers.scribe.skill_items import skill_check, skill_items

__all__ = ["scribe"]


def scribe(base: Method, *, skills: float = 0.2, format: float = 0.1) -> Method:
    """Add to the outcome the mean rubric score of the steps, and the format.

    Args:
        skills: weight of the rubric scores. Unconfirmed.
        format: weight of well-formed calls. Unconfirmed.
    """
    items = skill_items(segments=single_turns, route=lookup_or_answer, skills=LOOKUP_SKILLS)
    check = base.judge.check(rule=skill_check(LOOKUP_RULES), items=items)
    mid_level = rewards.rubric_points(items=items, check=check, without=0.0)
    parts = {"correct": (1.0, base.reward), "skills": (skills, mid_level)}
    return replace(base, reward=rewards.weighted({**parts, "format": (format, rewards.well_formed())}))
