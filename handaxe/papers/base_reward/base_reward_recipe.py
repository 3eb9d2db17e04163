"""Recipe study of BaseReward: head, regulariser, text-only pairs and ensemble, on pairs of drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.judges.drawing_model import pair_accuracy
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.base_reward.recipe_arms import ARMS, arm_scores
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.canvas.canvas import canvas

__all__ = ["base_reward_recipe"]

HELD_OUT = 1_000_000
"""Added to the seed of held-out requests."""


def base_reward_recipe(
    *, seeds: int = 3, images: int = 480, words: int = 480, held_out: int = 200, skill: int = 90
) -> StudyFunction:
    """Fit reward models of drawings that differ from the recipe in one choice, and compare their accuracy on pairs.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        image/ARM, words/ARM    share of held-out pairs in the order of the scores, of images and text-only; arms of
                                `recipe_arms.arm_scores`
        gain/ARM                image/recipe less image/ARM
        gain/ensemble           image/ensemble less the mean of image/recipe and image/second
        gain/best               image/ensemble less the greater of the two

    Args:
        seeds: from the study's seed on; each draws requests, errors, order and heads.
        images: requests with a pair of images.
        words: other requests, with a text-only pair.
        held_out: requests that measure, with a pair of both kinds.
        skill: steps of exact demonstrations of `canvas` that make the second backbone from `tiny_vision`.

    Example:
        image/recipe 0.8 and image/linear 0.75  ->  gain/linear 0.05

    Paper: BaseReward, the recipe of a multimodal reward model.
    Differs: backbones of 0.95M parameters, and pairs whose order is known by construction.
    """

    def measure(seed: int) -> dict[str, float]:
        world = canvas(changes=0.0, colours=2, shapes=2)
        second = start_policy(replace(world, start=world.need("start")._replace(skill=skill)))
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            given = world.tasks("train", images + words, number)
            tested = world.tasks("test", held_out, HELD_OUT + number)
            found = arm_scores(
                drawing_pairs(given[:images], seed=number),
                drawing_pairs(given[images:], seed=number, shown="words"),
                {
                    "image": drawing_pairs(tested, seed=number),
                    "words": drawing_pairs(tested, seed=number, shown="words"),
                },
                second=second,
                seed=number,
            )
            for arm, scores in found.items():
                for name, score_P2 in scores.items():
                    columns.setdefault(f"{name}/{arm}", []).append(pair_accuracy(score_P2))
        return _figures(columns)

    return measure


def _figures(columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
    figures = dict[str, float]()
    for name, own in columns.items():
        figures |= interval_figures(name, own)
    recipe_S, second_S = np.array(columns["image/recipe"]), np.array(columns["image/second"])
    both_S = np.array(columns["image/ensemble"])
    for arm in ARMS[1:-1]:
        figures |= interval_figures(f"gain/{arm}", recipe_S - columns[f"image/{arm}"])
    figures |= interval_figures("gain/ensemble", both_S - (recipe_S + second_S) / 2)
    figures |= interval_figures("gain/best", both_S - np.maximum(recipe_S, second_S))
    return figures
