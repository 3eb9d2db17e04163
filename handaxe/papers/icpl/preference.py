"""Feedback by preference: a good and a bad program of a round, without any measure of success."""

import random
from collections.abc import Sequence

from handaxe.training.stages.parts.program_search import FAILED, TASK, Feedback, FeedbackMaker, ProgramTrial

__all__ = ["preference"]


def preference(*, informed: bool = True) -> FeedbackMaker:
    """Make feedback of two programs of a round: one preferred, one rejected.

        good = argmax_k score_k,  bad = argmin_k score_k        over the programs that ran, the first of equal scores

    The author sees both texts and the curves of the good program's components. Scores and the task's curve are removed.

    Args:
        informed: False draws both programs by chance.

    Returns:
        Feedback for `search_programs`; no bad program if fewer than two ran, None if none ran.

    Example:
        scores 0.1, 0.9, 0.4 -> good is the second program, bad the first

    Paper: arXiv:2410.17233 (ICPL), the selection of the best and the worst video by a person or by a hidden measure.
    Differs: the hidden measure stands in for a person; the differences from good programs of earlier rounds are left
        out.
    """

    def feedback(trials: Sequence[ProgramTrial], seed: int) -> Feedback | None:
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
        return Feedback(good, worst, "\n".join(lines))

    return feedback


def _blind(one: ProgramTrial) -> ProgramTrial:
    """Remove the score and the task's curve of a trial."""
    return one._replace(score=FAILED, curves={name: curve for name, curve in one.curves.items() if name != TASK})


def _shown(curve: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in curve)
