"""Reward generalization (arXiv:2402.10184): a reward model from comparisons within trees of responses."""

from handaxe import judges, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.tree_preferences.response_trees import Topology, response_source
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.fit import fit

__all__ = ["tree_preferences"]


def tree_preferences(
    base: Method,
    *,
    topology: Topology = "tree",
    depth: int = 2,
    branches: int = 2,
    most: int = 2,
    fit_groups: int = 48,
    fit_epochs: int = 6,
) -> Method:
    """Fit a reward model on comparisons of leaves of response trees, and train on its score.

    Args:
        topology: "tree", or "chain", independent rollouts.
        depth: fork places of a trunk.
        branches: leaves of a place.
        most: comparisons of a task at most.
        fit_groups: tasks with comparisons.
        fit_epochs: passes over the comparisons.
    """
    model = judges.reward_model(
        pairs=ordered(most=most),
        batch_size=32,
        fit_epochs=fit_epochs,
        learning_rate=3e-4,
        learns=False,
        channel="correct",
    )
    source = response_source(base, topology, groups=fit_groups, depth=depth, branches=branches)
    return replace(
        base,
        reward=rewards.weighted({"model": (1.0, rewards.judged(judge=model)), "correct": (0.0, base.reward)}),
        stages=(*base.stages, fit(judge=model, source=source)),
        learners=(*base.learners, model),
    )
