"""ICPL (arXiv:2410.17233), the comparison PrefPPO: an ensemble of reward models that asks preferences in training."""

from handaxe import rewards
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.icpl.queried_ensemble import queried_ensemble
from handaxe.training.stages.fit import fit

__all__ = ["icpl_ensemble"]


def icpl_ensemble(
    base: Method,
    *,
    queries: int = 49,
    first: int = 17,
    per_step: int = 4,
    members: int = 3,
    disagreement: bool = True,
    fit_groups: int = 24,
) -> Method:
    """Replace the base's reward by reward models that learn beside the policy, from preferences asked in training.

    Args:
        queries: preferences in total; 49 is the smallest number in the paper.
        first: preferences on rollouts of the first policy, before training.
        per_step: preferences of a training step.
        members: reward models; 3 in PrefPPO.
        disagreement: ask the pairs on which the reward models disagree most; without, pairs spread over groups.
        fit_groups: groups of rollouts of the first policy.
    """
    judge = queried_ensemble(members=members, first=first, per_step=per_step, most=queries, disagreement=disagreement)
    reward = rewards.weighted({"preferred": (1.0, rewards.judged(judge=judge)), "correct": (0.0, base.reward)})
    fitting = fit(judge=judge, source=labelled_rollouts(base, groups=fit_groups))
    return replace(base, reward=reward, stages=(*base.stages, fitting), learners=(*base.learners, judge))
