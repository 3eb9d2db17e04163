"""Language models as reward model and meta reward model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable, probability
from handaxe.core.errors import VerifierError
from handaxe.core.records import Sampling, Task
from handaxe.papers.mpo.rubric_sample import MOST, Rubric, RubricSample

__all__ = ["AskedJunior", "AskedMeta", "read_items", "read_points"]

END = "<EOE>"
"""Ends the rationale of a score."""
ITEM = re.compile(r"<item>(.*?)</item>", re.DOTALL)
POINTS = re.compile(r"\s*(\d+)\b")
TEMPERATURE = 0.02
SCORE_TOKENS, TEXT_TOKENS = 300, 500
"""Tokens of a score with its rationale, and of a critique or a rubric."""
UNREADABLE = frozenset({"unreadable", "too_long", "refused"})
"""Failures that earn 0 points, as in the paper; others leave the rollouts unscored."""


def read_points(answer: AskAnswer) -> float:
    """Read the points after the rationale.

    Example:
        "Two of three are there. <EOE> 4"  ->  4;  without <EOE>, and "x" or "9" after it  ->  unreadable

    Paper: arXiv:2504.20157 (MPO), a rationale that ends with <EOE>, then a whole number, by its released code.
    Unconfirmed: the scale of 0 to 6.
    """
    _, end, rest = answer.text.partition(END)
    found = POINTS.match(rest) if end else None
    if found is None or int(found[1]) > MOST:
        raise Unreadable(f"the answer has no points from 0 to {MOST} after {END}")
    return float(found[1])


def read_items(answer: AskAnswer) -> Rubric:
    """Read the items of a rubric, on one line each and without duplicates.

    Example:
        "<item>Short.</item> and <item>No letter twice.</item>"  ->  ("Short.", "No letter twice.")

    Paper: arXiv:2504.20157 (MPO), a rubric as a list of <item>, by its released code.
    """
    items = tuple(dict.fromkeys(" ".join(one.split()) for one in ITEM.findall(answer.text) if one.strip()))
    if not items:
        raise Unreadable("the answer has no <item>")
    return items


class AskedJunior:
    """Asks a language model for a rationale and points of each item and text.

    Args:
        desk: asks the model.

    Raises:
        VerifierError: while scoring, a model that is away or over its budget; the group is not scored.

    Example:
        two items, "... <EOE> 4" and "... <EOE> x"  ->  (4, None)

    Paper: arXiv:2504.20157 (MPO), scores of a rubric by a language model, by its released code.
    Differs: an item a question, where the released code has one reply for all items.
    """

    def __init__(self, desk: AskDesk):
        self._desk = desk

    def score(self, rubric: Rubric, task: Task, texts: Sequence[str]) -> list[tuple[float | None, ...]]:
        fields = [{"task": _words(task), "item": item, "answer": text} for text in texts for item in rubric]
        asks = [_ask(self._desk, "score", one, role="judge", tokens=SCORE_TOKENS) for one in fields]
        found = [_points(one) for one in self._desk.ask(asks, read_points)]
        return [tuple(found[k : k + len(rubric)]) for k in range(0, len(found), len(rubric))]


class AskedMeta:
    """Asks a language model for the four parts of an update.

    A question without an answer adds nothing: a sample counts as scored well, has no critique, a critique has no
    proposal, and without a merged rubric the present one stays.

    Args:
        desk: asks the model.

    Example:
        critique "It repeats a word.", reply "<item>No word twice.</item>"  ->  the proposal ("No word twice.",)

    Paper: arXiv:2504.20157 (MPO), meta-analysis, meta-refinement and meta-merge, by its released code.
    Unconfirmed: the wordings of the prompts.
    """

    def __init__(self, desk: AskDesk):
        self._desk = desk

    def screen(self, rubric: Rubric, samples: Sequence[RubricSample]) -> list[bool]:
        asks = [_ask(self._desk, "screen", _fields(rubric, one)) for one in samples]
        found = self._desk.ask(asks, probability("bad", "ok"))
        return [not isinstance(one, NoAnswer) and one > 0.5 for one in found]

    def analyse(self, rubric: Rubric, samples: Sequence[RubricSample]) -> list[str]:
        asks = [_ask(self._desk, "analyse", _fields(rubric, one)) for one in samples]
        return ["" if isinstance(one, NoAnswer) else one for one in self._desk.ask(asks, _text)]

    def refine(self, rubric: Rubric, critiques: Sequence[str]) -> list[Rubric]:
        asks = [_ask(self._desk, "refine", {"rubric": _shown(rubric), "critique": one}) for one in critiques]
        return [() if isinstance(one, NoAnswer) else one for one in self._desk.ask(asks, read_items)]

    def merge(self, rubric: Rubric, proposals: Sequence[Rubric]) -> Rubric:
        fields = {"rubric": _shown(rubric), "proposals": "\n\n".join(map(_shown, proposals))}
        (found,) = self._desk.ask([_ask(self._desk, "merge", fields)], read_items)
        return () if isinstance(found, NoAnswer) else found


def _ask(desk: AskDesk, name: str, fields: dict[str, str], *, role: str = "meta", tokens: int = TEXT_TOKENS) -> Ask:
    limits = Sampling(temperature=TEMPERATURE, max_tokens=tokens)
    return Ask(find_prompt(f"mpo/{name}", terse=desk.answerer.terse), fields, role=role, sampling=limits)


def _fields(rubric: Rubric, one: RubricSample) -> dict[str, str]:
    return {"task": _words(one.task), "rubric": _shown(rubric), "score": f"{one.score:g}", "answer": one.text}


def _words(task: Task) -> str:
    return task.messages[-1].content


def _shown(rubric: Rubric) -> str:
    """An item a line, as a JSON string: items are text of a model, from texts of a policy."""
    return "\n".join(f"- {json.dumps(item, ensure_ascii=False)}" for item in rubric)


def _points(found: float | NoAnswer) -> float | None:
    if isinstance(found, NoAnswer):
        if found.reason not in UNREADABLE:
            raise VerifierError(f"the judge scored no item: {found.reason} {found.text[:200]!r}")
        return None
    return found


def _text(answer: AskAnswer) -> str:
    return answer.text.strip()
