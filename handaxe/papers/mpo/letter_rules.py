"""Rules in the place of both models: scores of known items, and a rubric refined against known flaws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.papers.mpo.rubric_sample import MOST, Rubric, RubricSample, add_scores

__all__ = ["EACH", "FIRST_RUBRIC", "ITEMS", "ONCE", "OTHERS", "RuleJunior", "RuleMeta", "USES"]

USES = "Uses the required letters."
EACH = "Uses each of the required letters; a second use earns nothing."
ONCE = "Has no letter twice."
OTHERS = "Has no letters but the required ones."

FIRST_RUBRIC: Rubric = (USES,)
"""Rubric before the first update: it rewards repetition."""


def _uses(line: str, required: str) -> int:
    return min(MOST, sum(letter in required for letter in line))


def _each(line: str, required: str) -> int:
    return MOST // len(required) * len(set(line) & set(required))


def _once(line: str, required: str) -> int:
    del required
    return max(0, MOST - (len(line) - len(set(line))))


def _others(line: str, required: str) -> int:
    return max(0, MOST - sum(letter not in required for letter in line))


ITEMS: Mapping[str, Callable[[str, str], int]] = MappingProxyType(
    {USES: _uses, EACH: _each, ONCE: _once, OTHERS: _others}
)
"""Item -> (line, required letters) -> points of a reader who takes the item by its words."""


def _without_repeats(line: str, required: str) -> str:
    del required
    return "".join(dict.fromkeys(line))


def _without_others(line: str, required: str) -> str:
    return "".join(letter for letter in line if letter in required)


REPAIRS: Mapping[str, Callable[[str, str], str]] = MappingProxyType(
    {"repeated letters": _without_repeats, "other letters": _without_others}
)
"""Flaw -> the line without the flaw."""
REMEDIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"repeated letters": (EACH, ONCE), "other letters": (OTHERS,)}
)
"""Flaw -> items against it, in the order in which they are proposed."""
REPLACED: Mapping[str, str] = MappingProxyType({EACH: USES})
"""Item -> a less precise item that it replaces."""


class RuleJunior:
    """Scores the items of `ITEMS` by rule.

    Raises:
        InputError: while scoring, an item without a rule.

    Example:
        rubric (USES,), required bdf, "bbdfb"  ->  (5,); rubric (EACH, ONCE)  ->  (6, 4)

    Idea: a reader who takes an item by its words and is fooled by its gaps.
    """

    def score(self, rubric: Rubric, task: Task, texts: Sequence[str]) -> list[tuple[float | None, ...]]:
        if unknown := [item for item in rubric if item not in ITEMS]:
            raise InputError(
                f"the rule has no points for the item {unknown[0]!r}: give --judge MODEL for other rubrics"
            )
        required = task.metadata["required"]
        return [tuple(float(ITEMS[item](text, required)) for item in rubric) for text in texts]


class RuleMeta:
    """Refines a rubric by rule; a stand-in for a large language model, with a list of flaws of lines.

        a flaw fools the rubric    score(line) >= score(line without the flaw), for a line with the flaw
        critique                   the flaws that fool the rubric, in the order of `REPAIRS`
        refinement                 the rubric, and the first missing item of `REMEDIES` against each flaw
        merge                      items of the most proposals first, without duplicates and replaced items

    It reads lines and scores, never the true score.

    Args:
        junior: scores lines.

    Example:
        rubric (USES,), line "bbdf"  ->  4 >= 3, so the critique is "repeated letters" and the proposal (EACH,)

    Idea: an edit of a rubric is justified if a repaired answer earns no more than the flawed one.
    """

    def __init__(self, junior: RuleJunior):
        self._junior = junior

    def screen(self, rubric: Rubric, samples: Sequence[RubricSample]) -> list[bool]:
        return [critique != "" for critique in self.analyse(rubric, samples)]

    def analyse(self, rubric: Rubric, samples: Sequence[RubricSample]) -> list[str]:
        return [", ".join(flaw for flaw in REPAIRS if self._fools(rubric, one, flaw)) for one in samples]

    def refine(self, rubric: Rubric, critiques: Sequence[str]) -> list[Rubric]:
        return [self._refined(rubric, critique) for critique in critiques]

    def merge(self, rubric: Rubric, proposals: Sequence[Rubric]) -> Rubric:
        del rubric
        counts = Counter(item for one in proposals for item in one)
        ordered = sorted(counts, key=lambda item: (-counts[item], list(ITEMS).index(item)))
        replaced = {REPLACED[item] for item in ordered if item in REPLACED}
        return tuple(item for item in ordered if item not in replaced)

    def _fools(self, rubric: Rubric, one: RubricSample, flaw: str) -> bool:
        repaired = REPAIRS[flaw](one.text, one.task.metadata["required"])
        before, after = map(add_scores, self._junior.score(rubric, one.task, [one.text, repaired]))
        return repaired != one.text and before >= after

    def _refined(self, rubric: Rubric, critique: str) -> Rubric:
        items = list(rubric)
        for flaw in critique.split(", ") if critique else ():
            items += [item for item in REMEDIES[flaw] if item not in items][:1]
        return tuple(item for item in items if item not in {REPLACED.get(one) for one in items})
