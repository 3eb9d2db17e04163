"""Reward models that differ in the initialization of their heads."""

from __future__ import annotations

from handaxe.core.heads import Head
from handaxe.judges.reward_model import RewardModel, reward_model
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.selection.pairs.ordered import ordered

__all__ = ["members_of"]


def members_of(*, count: int, first: int = 0, centre: float = 0.01, fit_epochs: int = 1) -> list[RewardModel]:
    """Make reward models from the policy that are fitted on pairs, each with a head drawn by a seed of its own.

    Args:
        count: number of reward models.
        first: seed of the first; the next has the next.
        centre: weight of the term that keeps scores around 0, see `bradley_terry`.
        fit_epochs: passes over the pairs of channel "correct".

    Example:
        members_of(count=3, first=1): heads of seeds 1, 2 and 3

    Paper: arXiv:2312.09244, ensembles by fine-tuning seed, and the term of the loss.
    Differs: the head has a hidden layer of 32; the order of the pairs is the same for all members.
    """
    return [
        reward_model(
            head=Head(init="normal", hidden=(32,), seed=seed),
            pairs=ordered(),
            loss=bradley_terry(centre=centre),
            batch_size=32,
            fit_epochs=fit_epochs,
            learning_rate=3e-4,
            learns=False,
            channel="correct",
        )
        for seed in range(first, first + count)
    ]
