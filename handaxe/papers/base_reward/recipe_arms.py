"""Reward models of the recipe study: head, loss, data and backbone, each changed alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.heads import Head
from handaxe.judges.drawing_model import fit_drawing_model, message_scores
from handaxe.judges.ensemble import ensemble
from handaxe.judges.viewed import PreferredMessage, Viewed
from handaxe.losses.preference.bradley_terry import bradley_terry

if TYPE_CHECKING:
    from handaxe.models.load import Policy

__all__ = ["ARMS", "arm_scores", "mixed_order"]

ARMS = ("recipe", "linear", "centred", "image", "repeated", "second", "ensemble")
WIDTH = 128
"""Width of the hidden layer of the head, as of the backbone."""
CENTRE = 0.01
"""Weight of the square of the scores of a pair, the regulariser of the comparison."""


def arm_scores(
    images: Sequence[PreferredMessage],
    words: Sequence[PreferredMessage],
    tests: Mapping[str, Sequence[PreferredMessage]],
    *,
    second: Policy,
    seed: int = 0,
) -> dict[str, dict[str, np.ndarray]]:
    """Fit the reward models of all arms, and score pairs.

        recipe     two-layer head with SiLU, Bradley-Terry alone, image pairs and text-only pairs
        linear     a linear head
        centred    0.01 (r_w + r_l)^2 added to the loss
        image      image pairs alone, as many as in the recipe
        repeated   image pairs alone, twice each: as many updates as the recipe if there are as many text-only pairs
        second     another backbone
        ensemble   mean of the scores of recipe and second

    Args:
        images: pairs of images.
        words: text-only pairs.
        tests: name -> P pairs.
        second: backbone beside the packaged `tiny_vision`; it is not changed.
        seed: of the order of the mixture and of the heads.

    Returns:
        Arm -> name of the test -> [P, 2] scores, the better side first.

    Example:
        scores 2 and 1 of recipe and 0 and 3 of second: 1 and 2 of the ensemble

    Paper: BaseReward, the ablations of head, regularisation, data and ensemble.
    Unconfirmed: the form of the regularisers; the square is that of arXiv:2312.09244.
    """
    mixed, pure = mixed_order([*images, *words], seed), mixed_order(images, seed)
    two = Head(hidden=(WIDTH,), seed=seed)
    linear = Head(seed=seed)
    models: dict[str, Viewed] = {
        "recipe": fit_drawing_model(mixed, head=two),
        "linear": fit_drawing_model(mixed, head=linear),
        "centred": fit_drawing_model(mixed, head=two, loss=bradley_terry(centre=CENTRE)),
        "image": fit_drawing_model(pure, head=two),
        "repeated": fit_drawing_model(pure, head=two, epochs=2),
        "second": fit_drawing_model(mixed, head=two, policy=second),
    }
    found = {name: one.judge for name, one in models.items()}
    both = ensemble(members=[found["recipe"], found["second"]])
    return {
        arm: {name: message_scores(judge, pairs, second.format) for name, pairs in tests.items()}
        for arm, judge in {**found, "ensemble": both}.items()
    }


def mixed_order(pairs: Sequence[PreferredMessage], seed: int) -> list[PreferredMessage]:
    """Return the pairs in an order drawn by a seed, so that sources alternate at random.

    Example:
        equal seeds give equal orders
    """
    order = np.random.default_rng(seed).permutation(len(pairs))
    return [pairs[k] for k in order]
