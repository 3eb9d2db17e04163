"""VideoReward (arXiv:2501.13918): Bradley-Terry with ties, and a separate state for each quality."""

from __future__ import annotations

import numpy as np

from handaxe.evaluation.policy_rollouts import HELD_OUT
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import column_figures
from handaxe.papers.video_reward.attribute_labels import compare_qualities, rate_qualities
from handaxe.papers.video_reward.attribute_reward import LOSSES, AttributeReward
from handaxe.papers.video_reward.described_pairs import described_pairs
from handaxe.papers.video_reward.request_leak import request_leak
from handaxe.papers.video_reward.three_way import class_figures
from handaxe.worlds.canvas.edit_features import PICTURE_SIZE, REQUEST_SIZE

__all__ = ["video_reward"]

NEEDS = (True, False, False)
"""The request matters to the first of `ASPECTS` alone."""
GAINS = {
    f"{title}/ties/{link}": (f"{name}/ties", f"{name}/{link}")
    for link in ("dropped", "regression")
    for name, title in (("three", "gain"), ("strict", "strict_gain"))
}


def video_reward(
    *,
    seeds: int = 5,
    pairs: int = 240,
    held_out: int = 150,
    tie: float = 0.3,
    noise: float = 0.4,
    steps: int = 200,
) -> StudyFunction:
    """Fit reward models of edited drawings on comparisons with ties, by three losses, and measure three classes.

    Figures, means over seeds and over the qualities followed, kept and clean; /low and /high are the ends of a 95 %
    interval:
        three/LOSS      accuracy in three classes on held-out pairs, threshold of other held-out pairs
        strict/LOSS     share of held-out pairs with a winner that the scores order correctly
        gap/LOSS        mean |D| of ties, divided by the mean |D| of pairs with a winner
        gain/A/B        three of A less that of B, over equal seeds;  strict_gain/A/B likewise
        leak/separate, leak/shared   for the qualities of the picture alone: mean |change of the score| when the request
                        is exchanged for another, divided by the standard deviation of the scores; loss "ties"
        tied            share of ties among the training labels

    Args:
        seeds: draws of pairs, errors and weights, from the study's seed on.
        pairs: training pairs of a seed.
        held_out: pairs that calibrate, and as many that measure.
        tie: largest difference that annotators call a tie.
        noise: standard deviation of the annotators' errors.
        steps: of AdamW.

    Example:
        three 0.7 of ties and 0.66 of dropped  ->  gain/ties/dropped 0.04

    Paper: arXiv:2501.13918 (VideoReward), Bradley-Terry with ties against Bradley-Terry and regression.
    Differs: edited drawings with known qualities, and annotators that err at random.
    """

    def measure(seed: int) -> dict[str, float]:
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            rng = generator("video_reward", number)
            given = described_pairs(pairs, seed=number)
            other = described_pairs(held_out, seed=number + HELD_OUT)
            tested = described_pairs(held_out, seed=number + 2 * HELD_OUT)
            told = [compare_qualities(one.quality_P2A, tie=tie) for one in (other, tested)]
            error_P2A = noise / np.sqrt(2) * rng.standard_normal(given.quality_P2A.shape)
            label_PA = compare_qualities(given.quality_P2A, tie=tie, noise_PA=error_P2A[:, 0] - error_P2A[:, 1])
            rating_P2A = rate_qualities(given.quality_P2A, noise_P2A=error_P2A)
            models = {link: _model(separate=True, seed=number) for link in LOSSES}
            for link, model in models.items():
                model.fit(link, given.input_P2F, label_PA, rating_P2A, steps=steps)
                own = class_figures(other.margins(model), told[0], tested.margins(model), told[1])
                for name, value in own.items():
                    columns.setdefault(f"{name}/{link}", []).append(value)
            shared = _model(separate=False, seed=number)
            shared.fit("ties", given.input_P2F, label_PA, rating_P2A, steps=steps)
            for name, model in (("separate", models["ties"]), ("shared", shared)):
                leak = request_leak(model.scores, tested.input_P2F[:, 0], picture=PICTURE_SIZE, needs=NEEDS)
                columns.setdefault(f"leak/{name}", []).append(leak)
            columns.setdefault("tied", []).append(float((label_PA == 0).mean()))
        return column_figures(columns, GAINS)

    return measure


def _model(*, separate: bool, seed: int) -> AttributeReward:
    return AttributeReward(PICTURE_SIZE, REQUEST_SIZE, needs=NEEDS, separate=separate, seed=seed)
