"""Step: keeps tasks by the share of a solver's most frequent or correct answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.ops.majority import majority
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.solvers import Solver, SolverAnswers
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept

__all__ = ["answer_votes"]


def answer_votes(
    solver: Solver,
    *,
    of: Literal["majority", "answer"] = "majority",
    low: float = 0.0,
    high: float = 1.0,
    name: str = "answer_votes",
) -> SynthesisStep:
    """Make a step that keeps tasks by the share of equal answers of a solver.

        a_1 ... a_k   answers of the solver; unscored ones are left out
        share         of the most frequent answer ("majority"), or of correct answers by the world's rule ("answer")
        kept  <=>  low <= share <= high

    Args:
        solver: see `synthesis.solvers`.
        of: "majority" needs no correct answer of the draft, and measures certainty; "answer" with high 0 keeps what the
            solver cannot answer, and with low above 0 what the solver confirms.
        low, high: the band, 0 to 1.
        name: of the step; several of them in a pipeline have different names.

    Returns:
        A step that keeps drafts of kind "task", with a note under its name: share, the most frequent answer as "voted",
        number of answers and solver.

    Raises:
        InputError: a band out of range; while running, see the solver.

    Example:
        answers 7, 9, 7 and none to a task with the answer 9: share of the majority 0.5, of the answer 0.25

    Paper: arXiv:2508.07976 (ASearcher) drops questions that a model answers without search; arXiv:2511.16043 (Agent0)
    keeps a band of the majority's share; arXiv:2509.24107 (Fathom-DeepResearch) has both kinds of filter.
    Unconfirmed: the bands.
    Differs: nothing known.
    """
    if not 0 <= low <= high <= 1:
        raise InputError(f"the band of {name} is {low} to {high}; give 0 <= low <= high <= 1")

    def outcome(draft: SynthesisDraft, found: SolverAnswers) -> DraftOutcome:
        if not found.texts:
            return dropped("unscored")
        vote = majority(found.texts)
        share = vote.share if of == "majority" else sum(found.correct) / len(found.correct)
        if not low <= share <= high:
            return dropped("too few votes" if share < low else "too many votes")
        note = {"share": share, "voted": vote.answer, "answers": len(found.texts), "by": solver.settings["by"]}
        return kept(draft.noted({name: note}))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        found = solver.answer(drafts, at)
        return [outcome(one, own)._replace(asked=own.asked) for one, own in zip(drafts, found, strict=True)]

    return SynthesisStep(name, run, settings={"solver": dict(solver.settings), "of": of, "low": low, "high": high})
