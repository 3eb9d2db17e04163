"""Feedback by preference: a good and a bad program of a round, without any measure of success."""

import difflib
import itertools
import random
from collections.abc import Sequence

from handaxe.training.stages.parts.program_search import FAILED, TASK, Feedback, FeedbackMaker, ProgramTrial

__all__ = ["preference"]


def preference(*, informed: bool = True) -> FeedbackMaker:
    """Make feedback of two programs of a round: one preferred, one rejected.

        good = argmax_k score_k,  bad = argmin_k score_k        over the programs that ran, the first of equal scores

    The author sees both texts, the curves of the good program's components, and the lines that changed from each good
    program to the next, from the first round on. Scores and the task's curve are removed.

    Args:
        informed: False draws both programs by chance.

    Returns:
        Feedback for `search_programs`; no bad program if fewer than two ran, None if none ran.

    Example:
        scores 0.1, 0.9, 0.4 -> good is the second program, bad the first
        good programs "x = 1" in round 0 and "x = 2" in round 1 -> "Change from preferred program 0 to 1:",
        "- x = 1", "+ x = 2"

    Paper: arXiv:2410.17233 (ICPL), the selection of the best and the worst video by a person or by a hidden measure,
        and the request of the next round.
    Unconfirmed: which good programs are compared.
    Differs: the hidden measure stands in for a person; differences are lines, where the paper has a language model
        describe them.
    """

    def feedback(trials: Sequence[ProgramTrial], past: Sequence[Feedback], seed: int) -> Feedback | None:
        ran = [one for one in trials if one.runs]
        if not ran:
            return None
        order = sorted(ran, key=lambda one: -one.score) if informed else random.Random(seed).sample(ran, len(ran))
        best = order[0]
        least = min(ran, key=lambda one: one.score) if informed else order[-1]
        worst = None if least is best else _blind(least)
        good = _blind(best)
        lines = ["Preferred program:", good.text, *(f"{name}: {_shown(curve)}" for name, curve in good.curves.items())]
        lines += [] if worst is None else ["Rejected program:", worst.text]
        lines += _changes([*(one.good.text for one in past if one.good is not None), good.text])
        return Feedback(good, worst, "\n".join(lines))

    return feedback


def _blind(one: ProgramTrial) -> ProgramTrial:
    """Remove the score and the task's curve of a trial."""
    return one._replace(score=FAILED, curves={name: curve for name, curve in one.curves.items() if name != TASK})


def _changes(texts: Sequence[str]) -> list[str]:
    """Lines that leave and enter from each text to the next."""
    out = list[str]()
    for k, (before, after) in enumerate(itertools.pairwise(texts)):
        changed = [line.rstrip() for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "-+"]
        out += [f"Change from preferred program {k} to {k + 1}:", *(changed or ["none"])]
    return out


def _shown(curve: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in curve)
