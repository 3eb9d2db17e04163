"""Sub-questions of a question with their dependencies, and four scores of the decomposition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.papers.astra.qa_traces import QaTrace

__all__ = ["Scores4", "SubQuestion", "decompose", "needs_tools", "score_decomposition"]


class SubQuestion(NamedTuple):
    """Part of a question, answered by one lookup of a key in a table.

    table    or several tables with blanks between them
    key      "" for an unknown one
    answer   "" without a document
    parent   index of the sub-question whose answer is the key; -1 for none
    part     index of the part of the question
    """

    table: str
    key: str
    answer: str
    parent: int
    part: int


class Scores4(NamedTuple):
    """Four scores of a decomposition, each from 0 to 1."""

    dependency: float
    atomicity: float
    serialisation: float
    completeness: float

    @property
    def mean(self) -> float:
        """Mean of the four."""
        return sum(self) / len(self)


def decompose(trace: QaTrace) -> list[SubQuestion]:
    """Split a question into sub-questions, each answered by a document.

    A rule reads the question from left to right: the first name of a part, then a table a word. A document for two
    tables makes one sub-question of both; without a document the answer is "".

    Example:
        "1204 town mayor?" -> (town, 1204, 4410, parent -1), (mayor, 4410, 3071, parent 0)
    """
    known: Mapping[tuple[str, str], str] = {(table, key): value for table, key, value in trace.documents}
    found = list[SubQuestion]()
    for number, part in enumerate(re.sub(r" \(\w+\)", "", trace.question.rstrip("?")).split(", ")):
        key, *words = part.split()
        parent = -1
        while words:
            prefixes = (" ".join(words[:size]) for size in range(1, len(words) + 1))
            table = next((one for one in prefixes if (one, key) in known), words[0])
            answer = known.get((table, key), "")
            found.append(SubQuestion(table, key, answer, parent, number))
            key, parent = answer, len(found) - 1
            words = words[len(table.split()) :]
    return found


def score_decomposition(trace: QaTrace, subs: Sequence[SubQuestion]) -> Scores4:
    """Score a decomposition.

        dependency      share of sub-questions with a parent whose key is the parent's answer; 1 if none has a parent
        atomicity       share of sub-questions about one table
        serialisation   share of sub-questions with a parent whose key the question does not say; 1 if none has one
        completeness    share of parts whose last sub-question has the answer of the part

    Args:
        trace: question, answer and documents.
        subs: its sub-questions.

    Returns:
        Four scores from 0 to 1.

    Example:
        "1204 town mayor?", answer 3071, with both documents -> (1, 1, 1, 1), mean 1; with one document for "town mayor"
        -> (1, 0, 1, 1), mean 0.75

    Paper: arXiv:2601.21558 (ASTRA), verification of environments, as in its released code (step_03_verify.py).
    Unconfirmed: the definition of each score; a rule computes them, where the paper asks a language model.
    Differs: see above.
    """
    said = set(re.findall(r"\w+", trace.question))
    children = [one for one in subs if one.parent >= 0]
    answers = trace.answer.split(", ")
    last = {one.part: one.answer for one in subs}
    return Scores4(
        _share([bool(one.key) and one.key == subs[one.parent].answer for one in children]),
        _share([" " not in one.table for one in subs]),
        _share([one.key not in said for one in children]),
        _share([last.get(part) == answer for part, answer in enumerate(answers)]),
    )


def needs_tools(trace: QaTrace, subs: Sequence[SubQuestion]) -> bool:
    """Test whether no answer of a sub-question with a child stands in the question.

    Example:
        "1204 town mayor (4410)?" -> False, since 4410 is the town of 1204
    """
    said = set(re.findall(r"\w+", trace.question))
    parents = {one.parent for one in subs}
    return not any(one.answer in said for number, one in enumerate(subs) if number in parents)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 1.0
