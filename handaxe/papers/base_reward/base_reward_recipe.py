"""Recipe study of BaseReward: head, regulariser, text-only pairs and ensemble, on pairs of drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.evaluation.policy_rollouts import HELD_OUT
from handaxe.judges.drawing_model import pair_accuracy
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures, interval_figures
from handaxe.papers.base_reward.recipe_arms import ARMS, arm_scores
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.canvas.canvas import canvas

__all__ = ["base_reward_recipe"]


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
    own_2S = np.array([columns["image/recipe"], columns["image/second"]])
    both_S = np.array(columns["image/ensemble"])
    figures = column_figures(columns, {f"gain/{arm}": ("image/recipe", f"image/{arm}") for arm in ARMS[1:-1]})
    figures |= interval_figures("gain/ensemble", both_S - own_2S.mean(0))
    return figures | interval_figures("gain/best", both_S - own_2S.max(0))
