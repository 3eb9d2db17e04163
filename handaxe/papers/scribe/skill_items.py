"""Criteria of a trajectory by segment: a router names the skill of each segment, and the skill's rubric applies.

    turns      0 1 | 2 3 4          segments (0, 2), (2, 5)
    skills     lookup | compare     items "0-2/lookup/query", "2-5/compare/both", "2-5/compare/larger"
    points     1 | 1/2, 1/2         so that `rubric_points` is the mean over segments of the share of met criteria

Example:
    items = skill_items(segments=by_reply, route=skill_of, skills={"lookup": [...], "compare": [...]})
    reward = rubric_points(items=items, check=skill_check(rules))
Paper: arXiv:2601.03555 (SCRIBE), the mid-level reward: segments of sub-goals, routed to skill prototypes with
a short rubric each.
Unconfirmed: all of it; only the abstract was available.
Differs: segments, router and skills are given; in the paper language models make and mine them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Trajectory

__all__ = ["Segment", "find_segment", "skill_check", "skill_items"]

Segment = tuple[int, int]
"""Turns [start, stop) of a trajectory."""
Rule = Callable[[Trajectory, Segment], bool]


def skill_items(
    *,
    segments: Callable[[Trajectory], Sequence[Segment]],
    route: Callable[[Trajectory, Segment], str],
    skills: Mapping[str, Sequence[Criterion]],
) -> Callable[[Trajectory], list[Criterion]]:
    """Make the criteria of a trajectory from the skills of its segments.

        points of item c of segment s = 1 / C_s        C_s: number of criteria of the skill of segment s

    Args:
        segments: trajectory -> disjoint segments.
        route: (trajectory, segment) -> skill.
        skills: name -> criteria; their points are ignored, and `kind` becomes the skill.

    Returns:
        The `items` of `rubric_points`: Trajectory -> criteria, named START-STOP/SKILL/NAME.

    Raises:
        InputError: a skill without criteria, or, when called, an unknown skill, or a segment out of range.

    Example:
        segments with the shares 1 and 0.5 of their items met  ->  rubric_points gives 0.75; with an outcome and a
        format
        of 1 and weights 1, 0.2 and 0.1  ->  1.25
    """
    empty = sorted(name for name, listed in skills.items() if not listed)
    if empty or not skills:
        raise InputError(
            f"skills without a criterion: {empty}; give at least one skill, and each at least one criterion"
        )

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


def find_segment(criterion: Criterion) -> tuple[Segment, str]:
    """Segment of an item, and the name of its criterion in the skill."""
    place, _, name = criterion.name.split("/", 2)
    start, stop = place.split("-")
    return (int(start), int(stop)), name


def skill_check(rules: Mapping[str, Rule]) -> Check:
    """Make a check of items by rules: criterion name -> (trajectory, segment) -> met.

    Returns:
        A check; an item is met from the last turn of its segment on.
    """

    def check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
        for c, one in enumerate(criteria):
            segment, name = find_segment(one)
            if rules[name](trajectory, segment):
                met_CN[c, segment[1] - 1 :] = True
        return met_CN

    return check
