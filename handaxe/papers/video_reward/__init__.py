"""VideoReward (arXiv:2501.13918): Bradley-Terry with ties, and a separate state for each quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import interval_figures
from handaxe.papers.video_reward.attribute_labels import compare_qualities, rate_qualities
from handaxe.papers.video_reward.attribute_reward import LOSSES, AttributeReward, Link
from handaxe.papers.video_reward.three_way import best_threshold, three_way_accuracy
from handaxe.worlds.canvas.edit_features import PICTURE_SIZE, REQUEST_SIZE, picture_features, request_features
from handaxe.worlds.canvas.edits import ASPECTS, edited_pairs

__all__ = ["video_reward"]

NEEDS = (True, False, False)
"""The request matters to the first of `ASPECTS` alone."""
GAINS: tuple[tuple[Link, Link], ...] = (("ties", "dropped"), ("ties", "regression"))
HELD_OUT = 1_000_000
"""Added to the seed of held-out pairs."""


class _Pairs(NamedTuple):
    input_P2F: np.ndarray
    quality_P2A: np.ndarray


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
            given, other, tested = (
                _pairs(size, number + k * HELD_OUT) for k, size in enumerate([pairs, *[held_out] * 2])
            )
            error_P2A = noise / np.sqrt(2) * rng.standard_normal(given.quality_P2A.shape)
            label_PA = compare_qualities(given.quality_P2A, tie=tie, noise_PA=error_P2A[:, 0] - error_P2A[:, 1])
            rating_P2A = rate_qualities(given.quality_P2A, noise_P2A=error_P2A)
            for link in LOSSES:
                model = _model(separate=True, seed=number)
                model.fit(link, given.input_P2F, label_PA, rating_P2A, steps=steps)
                own = _figures_of(
                    _margins(model, other), _labels(other, tie), _margins(model, tested), _labels(tested, tie)
                )
                for name, value in own.items():
                    columns.setdefault(f"{name}/{link}", []).append(value)
            for name, separate in (("separate", True), ("shared", False)):
                model = _model(separate=separate, seed=number)
                model.fit("ties", given.input_P2F, label_PA, rating_P2A, steps=steps)
                columns.setdefault(f"leak/{name}", []).append(_leak(model, tested))
            columns.setdefault("tied", []).append(float((label_PA == 0).mean()))
        return _summary(columns)

    return measure


def _model(*, separate: bool, seed: int) -> AttributeReward:
    return AttributeReward(PICTURE_SIZE, REQUEST_SIZE, needs=NEEDS, separate=separate, seed=seed)


def _pairs(count: int, seed: int) -> _Pairs:
    made = edited_pairs(count, seed=seed)
    rows = [
        [
            np.concatenate([part(one.image, one.request) for part in (picture_features, request_features)])
            for one in pair
        ]
        for pair in made
    ]
    return _Pairs(np.array(rows), np.array([[one.qualities for one in pair] for pair in made]))


def _margins(model: AttributeReward, made: _Pairs) -> np.ndarray:
    """[P, A] differences of scores."""
    score_P2A = model.scores(made.input_P2F.reshape(-1, made.input_P2F.shape[-1])).reshape(made.quality_P2A.shape)
    return np.asarray(score_P2A[:, 0] - score_P2A[:, 1])


def _labels(made: _Pairs, tie: float) -> np.ndarray:
    return compare_qualities(made.quality_P2A, tie=tie)


def _figures_of(
    other_PA: np.ndarray, other_label_PA: np.ndarray, margin_PA: np.ndarray, label_PA: np.ndarray
) -> dict[str, float]:
    three, strict = list[float](), list[float]()
    gap = list[float]()
    for a in range(len(ASPECTS)):
        threshold = best_threshold(other_PA[:, a], other_label_PA[:, a])
        margin_P, label_P = margin_PA[:, a], label_PA[:, a]
        won_P = label_P != 0
        three.append(three_way_accuracy(margin_P, label_P, threshold))
        strict.append(float((np.sign(margin_P) == label_P)[won_P].mean()))
        gap.append(float(np.abs(margin_P)[~won_P].mean() / np.abs(margin_P)[won_P].mean()))
    return {"three": float(np.mean(three)), "strict": float(np.mean(strict)), "gap": float(np.mean(gap))}


def _leak(model: AttributeReward, made: _Pairs) -> float:
    """Change of the scores of the picture alone when each picture gets the request of the next one."""
    input_NF = made.input_P2F[:, 0]
    moved_NF = input_NF.copy()
    moved_NF[:, PICTURE_SIZE:] = np.roll(input_NF[:, PICTURE_SIZE:], 1, axis=0)
    before_NA, after_NA = model.scores(input_NF), model.scores(moved_NF)
    alone = [a for a, need in enumerate(NEEDS) if not need]
    change_A = np.abs(after_NA - before_NA).mean(0) / before_NA.std(0)
    return float(change_A[alone].mean())


def _summary(columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
    figures = dict[str, float]()
    for name, own in columns.items():
        figures |= interval_figures(name, own)
    for first, second in GAINS:
        for name, title in (("three", "gain"), ("strict", "strict_gain")):
            difference = np.subtract(columns[f"{name}/{first}"], columns[f"{name}/{second}"])
            figures |= interval_figures(f"{title}/{first}/{second}", difference)
    return dict(sorted(figures.items()))
