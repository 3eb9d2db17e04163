"""Rounds of reward programs: an author writes, each program is tried, feedback goes to the next round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed

__all__ = [
    "Brief",
    "Check",
    "FAILED",
    "Feedback",
    "FeedbackMaker",
    "ProgramTrial",
    "SearchRound",
    "TASK",
    "Writer",
    "best_trial",
    "search_programs",
]

FAILED = -10_000.0
"""Score of a program that failed in its trial."""
TASK = "task"
"""Curve of the task's own measure, which no program reads."""


Check = Callable[[str], str]
"""Text of a program -> sentence on a failure, "" for none."""


def _accept(text: str) -> str:
    """Find no failure in any text."""
    del text
    return ""


class ProgramTrial(NamedTuple):
    """Result of training a copy of the policy with a program.

    text    the program
    score   maximum of the task's measure over the steps; FAILED for a program that failed
    curves  means over the rollouts of each step: TASK, "turns", "total", and each component under "component/NAME"
    error   sentence on the failure; "" for none
    comment further text on the trial, such as an analysis of failed rollouts
    """

    text: str
    score: float
    curves: Mapping[str, tuple[float, ...]]
    error: str = ""
    comment: str = ""

    @property
    def runs(self) -> bool:
        """True if the program ran to the end of the trial."""
        return not self.error


class Feedback(NamedTuple):
    """Feedback of a round: a good program, a bad program or None, and a text on both for the author."""

    good: ProgramTrial | None = None
    bad: ProgramTrial | None = None
    text: str = ""


NO_VALUES: Mapping[str, tuple[float, ...]] = {}


class Brief(NamedTuple):
    """Request to an author.

    names      of the numbers that programs read
    feedback   of the last round that has any; `feedback.good` is None in the first round
    check      runs a text on rollouts of the start: sentence on the failure, "" for none
    values     distinct values of each number on these rollouts, in ascending order
    """

    names: tuple[str, ...]
    feedback: Feedback
    check: Check = _accept
    values: Mapping[str, tuple[float, ...]] = NO_VALUES


Writer = Callable[[Brief, int, int], Sequence[str]]
"""(brief, count, seed) -> texts of programs."""
FeedbackMaker = Callable[[Sequence[ProgramTrial], Sequence[Feedback], int], Feedback | None]
"""(trials of a round, feedback of earlier rounds, seed) -> feedback; None keeps the last one of the earlier rounds."""


class SearchRound(NamedTuple):
    """Trials of a round in order, and the best trial so far, None as long as every program failed."""

    trials: tuple[ProgramTrial, ...]
    best: ProgramTrial | None


def search_programs(
    *,
    author: Writer,
    trial: Callable[[str], ProgramTrial],
    feedback: FeedbackMaker,
    names: Sequence[str],
    check: Check = _accept,
    values: Mapping[str, tuple[float, ...]] = NO_VALUES,
    programs: int,
    rounds: int,
    seed: int,
) -> list[SearchRound]:
    """Search for a reward program.

        texts_r    = author(brief_r, K)              K programs of round r
        trials_r   = trial(text)                     each from the same start
        brief_r+1  = feedback(trials_r, feedback of rounds before r), or that of the round before if there is none
        best_r     = argmax score over the trials of rounds 0 to r that ran; the first of equal scores

    Args:
        author: writes programs.
        trial: trains with a program.
        feedback: of a round.
        names, check, values: of every request, see `Brief`.
        programs: K, >= 1.
        rounds: >= 1.
        seed: of author and feedback.

    Returns:
        The rounds, in order.

    Raises:
        InputError: `programs` or `rounds` is below 1, or the author gives another number of programs.

    Example:
        scores -10000, 0.3, 0.7 in round 0 and 0.6, 0.5, -10000 in round 1 -> best 0.7 after both; with feedback of the
        round's best, round 1 starts from the program with 0.7, and a round 2 from the program with 0.6

    Paper: arXiv:2310.12931 (Eureka), algorithm 1; the score of a failed program as in the released code.
    Differs: nothing known.
    """
    if programs < 1 or rounds < 1:
        raise InputError(f"programs is {programs} and rounds {rounds}; give 1 or more of each")
    brief = Brief(tuple(names), Feedback(), check, values)
    best: ProgramTrial | None = None
    out, past = list[SearchRound](), list[Feedback]()
    for r in range(rounds):
        texts = list(author(brief, programs, derive_seed(seed, "author", r)))
        if len(texts) != programs:
            raise InputError(f"the author wrote {len(texts)} programs and not {programs}: return one text a program")
        trials = tuple(map(trial, texts))
        best = best_trial([*([] if best is None else [best]), *trials])
        out.append(SearchRound(trials, best))
        found = feedback(trials, past, derive_seed(seed, "feedback", r))
        if found is not None:
            past.append(found)
            brief = brief._replace(feedback=found)
    return out


def best_trial(trials: Sequence[ProgramTrial]) -> ProgramTrial | None:
    """Find the first trial of the highest score without a failure; None if every program failed."""
    ran = [one for one in trials if one.runs]
    return max(ran, key=lambda one: one.score) if ran else None
