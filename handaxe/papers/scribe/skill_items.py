"""Criteria of an attempt, segment by segment: a router names the skill of each, and the skill's rubric is asked.

    turns      0 1 | 2 3 4          segments (0, 2), (2, 5)
    skills     lookup | compare     items "0-2/lookup/query", "2-5/compare/both", "2-5/compare/larger"
    points     1 | 1/2, 1/2         so that `rubric_points` is the mean over segments of the share that each meets

Example:
    items = skill_items(segments=by_reply, route=skill_of, skills={"lookup": [...], "compare": [...]})
    reward = rubric_points(items=items, check=skill_check(rules))
Paper: arXiv:2601.03555 (SCRIBE), the mid-level reward: segments of sub-goals, routed to skill prototypes with
a short rubric each.
Unconfirmed: all of it; the abstract alone was read.
Differs: segments, router and skills are given, where the paper has them made and mined by language models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Trajectory

__all__ = ["Segment", "segment_of", "skill_check", "skill_items"]

Segment = tuple[int, int]
"""Turns [start, stop) of an attempt."""
Rule = Callable[[Trajectory, Segment], bool]


def skill_items(
    *,
    segments: Callable[[Trajectory], Sequence[Segment]],
    route: Callable[[Trajectory, Segment], str],
    skills: Mapping[str, Sequence[Criterion]],
) -> Callable[[Trajectory], list[Criterion]]:
    """Make the criteria of an attempt out of those of the skills that its segments show.

        points of item c of segment s = 1 / C_s        C_s: how many criteria the skill of segment s has

    Args:
        segments: of an attempt, which do not overlap.
        route: the skill that a segment shows.
        skills: name -> its criteria; their points are left out, `kind` becomes the skill.

    Returns:
        What `rubric_points(items=...)` takes: Trajectory -> criteria, named START-STOP/SKILL/NAME.

    Raises:
        InputError: a skill without criteria, or, when asked, a skill that there is not, or a segment outside.

    Example:
        segments with the shares 1 and 0.5 of their items met  ->  rubric_points gives 0.75; beside an outcome and a
        format of 1, with weights 1, 0.2 and 0.1  ->  1.25
    """
    empty = sorted(name for name, listed in skills.items() if not listed)
    if empty or not skills:
        raise InputError(f"skills without a criterion: {empty}; give each of one or more skills one or more")

    def items(trajectory: Trajectory) -> list[Criterion]:
        made = []
        for start, stop in segments(trajectory):
            skill = route(trajectory, (start, stop))
            if skill not in skills or not 0 <= start < stop <= len(trajectory.turns):
                raise InputError(
                    f"segment {start}-{stop} of {trajectory.id!r}, of {len(trajectory.turns)} turns, is routed to "
                    f"{skill!r}; there are {', '.join(sorted(skills))}"
                )
            for one in skills[skill]:
                name, points = f"{start}-{stop}/{skill}/{one.name}", 1 / len(skills[skill])
                made.append(replace(one, name=name, points=points, after=(), kind=skill))
        return made

    return items


def segment_of(criterion: Criterion) -> tuple[Segment, str]:
    """The segment that an item is about, and the name that its criterion has in the skill."""
    place, _, name = criterion.name.split("/", 2)
    start, stop = place.split("-")
    return (int(start), int(stop)), name


def skill_check(rules: Mapping[str, Rule]) -> Check:
    """Check items by rule: (attempt, segment) -> whether it meets the criterion of this name.

    Returns:
        A check, by which an item is met from the last turn of its segment on.
    """

    def check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
        for c, one in enumerate(criteria):
            segment, name = segment_of(one)
            if rules[name](trajectory, segment):
                met_CN[c, segment[1] - 1 :] = True
        return met_CN

    return check
