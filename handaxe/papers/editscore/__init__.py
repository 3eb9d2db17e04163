"""EditScore (paper 63): the mean of several samples of a generative judge of edits, as a reward."""

from handaxe import rewards
from handaxe.core.records import Group, Scores
from handaxe.methods.method import Method, replace
from handaxe.ops.once import once
from handaxe.papers.editscore.net_grader import fit_grader
from handaxe.papers.editscore.self_ensemble import SelfEnsemble, self_ensemble

__all__ = ["editscore"]

SEED = 63
"""Of the edits that the grader learns from."""


def editscore(base: Method, *, passes: int = 4, temperature: float = 0.7, edits: int = 400) -> Method:
    """Reward edits by the mean of several sampled scores; the first reward fits the grader.

    Args:
        passes: sampled scores of an edit; 4 in the paper.
        temperature: of the grader; 0.7 in the paper, 0 for a greedy score.
        edits: edited drawings that the grader learns from.
    """

    @once
    def judge() -> SelfEnsemble:
        grader = fit_grader(edits=edits, temperature=temperature, kinds=("dye",), seed=SEED)
        return self_ensemble(grader=grader, passes=passes)

    def score(group: Group) -> Scores:
        return rewards.judged(judge=judge())(group)

    parts = {"score": (0.1, score), "correct": (0.0, base.reward)}
    return replace(base, reward=rewards.weighted(parts))
