"""Study: the mean of several sampled scores of an edit, one sampled score, and the greedy score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.images import Image
from handaxe.evaluation.policy_rollouts import HELD_OUT
from handaxe.evaluation.rank_figures import rank_figures
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import column_figures
from handaxe.papers.editscore.edit_questions import EditQuestion
from handaxe.papers.editscore.net_grader import NetGrader, fit_grader
from handaxe.papers.editscore.overall import SCALE, overall, read_grades
from handaxe.papers.editscore.self_ensemble import Grader, self_ensemble
from handaxe.worlds.canvas.edits import EditedDrawing, EditRequest, edit_drawing, edit_requests

__all__ = ["coarse", "grade_passes"]

BEST = 25
FEW = 5
"""Highest grade of the coarse scale."""
GAINS = {
    "gain/4/1": ("pair/4", "pair/1"),
    "gain/4/greedy": ("pair/4", "pair/greedy"),
    "fewer_ties": ("ties/coarse", "ties/fine"),
}


def grade_passes(
    *,
    seeds: int = 6,
    edits: int = 400,
    held_out: int = 150,
    passes: int = 8,
    temperature: float = 0.7,
    steps: int = 200,
) -> StudyFunction:
    """Fine-tune graders of edited drawings, and rank held-out edits by one score or by a mean of several.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval. Pairs are of all held-out edits whose
    true overall scores differ:
        pair/1, pair/4, pair/8   share of pairs in the order of the mean of so many sampled scores
        pair/greedy              the same of one greedy score
        gain/4/1, gain/4/greedy  differences over equal seeds
        ties/fine, ties/coarse   share of the pairs with equal scores of one pass, with grades up to 25 and up to 5
        fewer_ties               ties/coarse less ties/fine
        read                     share of passes that are readable after at most two further tries

    Args:
        seeds: graders, from the study's seed on.
        edits: edited drawings that a grader learns from.
        held_out: edits that measure.
        passes: sampled scores of an edit, at least 4.
        temperature: of the samples.
        steps: of AdamW.

    Example:
        pair 0.7 of a mean of four and 0.65 of one  ->  gain/4/1 0.05

    Paper: EditScore (paper 63), self-ensemble, and a wide range of grades.
    Differs: edited drawings with known qualities, and a small network on features as grader.
    """

    def measure(seed: int) -> dict[str, float]:
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            grader = fit_grader(edits=edits, steps=steps, temperature=temperature, seed=number)
            made = _held_out(held_out, number)
            for name, value in _figures_of(grader, made, passes).items():
                columns.setdefault(name, []).append(value)
        return column_figures(columns, GAINS)

    return measure


def coarse(grader: Grader, *, best: int = BEST, few: int = FEW) -> Grader:
    """Round the grades of a grader to a scale with few values.

        grade' = round(few * grade / best)

    Example:
        "[20, 15]" of 25, few 5  ->  "[4, 3]"
    """

    def answer(questions: Sequence[EditQuestion], number: int) -> list[str]:
        found = list[str]()
        for text in grader(questions, number):
            grades = read_grades(text, count=text.count(",") + 1, best=best) or ()
            found.append(str([round(few * one / best) for one in grades]))
        return found

    return answer


def _held_out(count: int, seed: int) -> list[EditedDrawing]:
    rng = generator("grade_passes", seed)
    return [edit_drawing(one, rng) for one in edit_requests(count, seed=seed + HELD_OUT)]


def _figures_of(grader: NetGrader, made: Sequence[EditedDrawing], passes: int) -> dict[str, float]:
    truth_N = np.array([overall((one.followed, one.kept), (one.clean,), best=1) for one in made])
    pictures: list[tuple[Image, EditRequest]] = [(one.image, one.request) for one in made]
    score_NK = self_ensemble(grader=grader, passes=passes).pass_scores(pictures)
    greedy = NetGrader(grader.net, temperature=0.0)
    greedy_N1 = self_ensemble(grader=greedy, passes=1, tries=1).pass_scores(pictures)
    few_N1 = self_ensemble(grader=coarse(grader), passes=1, best=FEW).pass_scores(pictures)
    found = {f"pair/{k}": _pair(score_NK[:, :k], truth_N) for k in (1, 4, passes)}
    found |= {"pair/greedy": _pair(greedy_N1, truth_N), "read": float((~np.isnan(score_NK)).mean())}
    return found | {"ties/fine": _ties(score_NK[:, :1], truth_N), "ties/coarse": _ties(few_N1, truth_N)}


def _pair(score_NK: np.ndarray, truth_N: np.ndarray) -> float:
    return rank_figures([_mean(score_NK)], [truth_N]).pair


def _mean(score_NK: np.ndarray) -> np.ndarray:
    """Mean over readable passes; the middle of the scale without one."""
    read_NK = ~np.isnan(score_NK)
    total_N = np.where(read_NK, score_NK, 0.0).sum(1)
    return np.where(read_NK.any(1), total_N / np.maximum(read_NK.sum(1), 1), SCALE / 2)


def _ties(score_N1: np.ndarray, truth_N: np.ndarray) -> float:
    """Share of pairs of unequal truth with equal scores."""
    score_N = _mean(score_N1)
    differs_NN = np.not_equal.outer(truth_N, truth_N)
    return float(np.equal.outer(score_N, score_N)[differs_NN].mean())
