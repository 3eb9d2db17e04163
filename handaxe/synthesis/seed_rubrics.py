"""Seed base of rubrics: questions with criteria, retrieved by BM25."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.tools.index.lexical import Lexical, write_lexical

__all__ = ["SeedCase", "SeedRubrics"]


class SeedCase(NamedTuple):
    """Question of the seed base with a rubric."""

    question: str
    criteria: tuple[Criterion, ...]


class SeedRubrics:
    """Retrieves the cases with the greatest BM25 score for a question.

    Args:
        cases: the seed base; one case or more.

    Raises:
        InputError: no case, or a missing package (extra [search]).

    Example:
        cases "4071 boss ally" and "9000 heir": nearest("7120 heir", 1) is the second

    Paper: arXiv:2510.15859 (ORBIT), retrieval of similar cases with their criteria.
    Differs: nothing known.
    """

    def __init__(self, cases: Sequence[SeedCase]):
        if not cases:
            raise InputError("a seed base of rubrics has one case or more")
        self.cases = tuple(cases)
        self._folder = tempfile.TemporaryDirectory(prefix="rubrics-")
        write_lexical([one.question for one in cases], Path(self._folder.name))
        self._index = Lexical(Path(self._folder.name))

    def nearest(self, question: str, count: int) -> list[SeedCase]:
        """Up to `count` cases, the most similar first; equal scores keep the order of the seed base."""
        order = np.argsort(-self._index.scores(question), kind="stable")
        return [self.cases[int(n)] for n in order[:count]]
