"""MPO (arXiv:2504.20157): a meta reward model rewrites the rubric of the reward model during training."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.mpo.evolving_rubric import EvolvingRubric
from handaxe.papers.mpo.letter_rules import FIRST_RUBRIC
from handaxe.papers.mpo.rubric_models import rubric_models

__all__ = ["mpo"]


def mpo(base: Method, *, interval: int = 3, analysed: int = 20) -> Method:
    """Reward by a rubric, and rewrite the rubric from badly scored rollouts.

    Channels: "judged" (points of the rubric) and "quality" (true score).

    Args:
        interval: batches between updates of the rubric, 10 in the paper; 0 for a fixed rubric.
        analysed: rollouts of an update that are analysed.
    """
    junior, meta = rubric_models(base.judge.texts())
    rubric = EvolvingRubric(junior, meta, initial=FIRST_RUBRIC, interval=interval, samples=analysed)
    parts = {"judged": (1.0, rewards.judged(judge=rubric)), "quality": (0.0, base.reward)}
    return replace(base, reward=rewards.weighted(parts), learners=(*base.learners, rubric))
