"""Cases of earlier questions: question, plan and reward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from handaxe.ops.text_store import Embed, TextStore

__all__ = ["Case", "CaseBank"]


class Case(NamedTuple):
    """Question (state), plan (action) and reward of a finished attempt."""

    question: str
    plan: tuple[str, ...]
    reward: float


class CaseBank:
    """Episodic memory: every finished attempt is written, and read by the similarity of questions.

    Args:
        embed: vectors of questions.

    Example:
        bank = CaseBank(embed); bank.write(Case("2320 K?", ("boss",), 1.0)); bank.nearest("4071 K?", k=4)

    Paper: arXiv:2508.16153 (Memento), non-parametric memory: write appends, read takes the K most similar states.
    Differs: nothing.
    """

    def __init__(self, embed: Embed):
        self.cases: list[Case] = []
        self.store = TextStore(embed)

    def __len__(self) -> int:
        return len(self.cases)

    def write(self, case: Case) -> None:
        """Append a case, successful or not."""
        self.cases.append(case)
        self.store.add(case.question)

    def nearest(self, question: str, *, k: int) -> list[int]:
        """Return the numbers of the k cases with the most similar questions, most similar first."""
        return [one.number for one in self.store.nearest(question, k=k)]

    def take(self, numbers: Sequence[int]) -> list[Case]:
        """Return cases by number."""
        return [self.cases[number] for number in numbers]
