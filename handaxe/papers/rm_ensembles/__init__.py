"""Reward model ensembles (arXiv:2312.09244): train on the combined score of several reward models."""

from handaxe import judges, rewards
from handaxe.judges.ensemble import Combine
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.rm_ensembles.members_of import members_of
from handaxe.training.stages.fit import fit

__all__ = ["rm_ensembles"]


def rm_ensembles(
    base: Method,
    *,
    members: int = 3,
    combine: Combine = "pessimistic",
    centre: float = 0.01,
    fit_groups: int = 24,
    fit_epochs: int = 8,
) -> Method:
    """Fit reward models of different initializations on the first policy's rollouts, and train on their ensemble.

    One more reward model scores and trains nothing: where the ensemble alone rises, the policy exploits it.

    Args:
        members: reward models of the ensemble; 5 in the paper.
        combine: as of `judges.ensemble`.
        centre: weight of the term that keeps scores around 0.
        fit_groups: groups on which the reward models are fitted.
        fit_epochs: passes over their pairs.
    """
    (other,) = members_of(count=1, centre=centre, fit_epochs=fit_epochs)
    made = members_of(count=members, first=1, centre=centre, fit_epochs=fit_epochs)
    labels = labelled_rollouts(base, groups=fit_groups)
    every = judges.ensemble(members=(*made, other))
    parts = {
        "ensemble": (1.0, rewards.judged(judge=judges.ensemble(members=made, combine=combine))),
        "other": (0.0, rewards.judged(judge=other)),
        "correct": (0.0, base.reward),
    }
    return replace(
        base,
        reward=rewards.weighted(parts),
        stages=(*base.stages, fit(judge=every, source=labels)),
        learners=(*base.learners, every),
    )
