"""Judge by a rubric that a meta model rewrites during training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Group, RatedGroup
from handaxe.ops.pearson import pearson
from handaxe.ops.seeds import generator
from handaxe.papers.mpo.rubric_sample import (
    JuniorModel,
    MetaModel,
    Rubric,
    RubricSample,
    add_scores,
    count_words,
    within_budget,
)

__all__ = ["EvolvingRubric", "choose_samples", "score_correlation"]

WORDS = 16_666
"""Words of the proposals that are merged, 25000 / 1.5."""


class EvolvingRubric:
    """Judge that scores by the latest version of a rubric; a meta model writes a version every `interval` batches.

        score       sum of the points of the items, see `add_scores`
        update      after batch `interval`, 2 `interval`, ...: on the rollouts of the batch
          1 screen    badly scored samples first, then others, up to `samples`, in an order of (seed, step)
          2 analyse   a critique of each sample
          3 refine    a proposal of a rubric for each critique
          4 merge     proposals within the word budget become version t + 1, without duplicates

    The next batch is scored by the new version. Without a proposal, version t + 1 equals version t. The versions are
    the state: a resumed run scores and updates as an uninterrupted one.

    Args:
        junior: reward model.
        meta: meta reward model.
        initial: version 0, one item or more.
        interval: batches between updates; 0 for a fixed rubric.
        samples: analysed rollouts of an update, >= 1.
        words: budget of the merge.
        judged, truth: channels of the rewards for the metrics, with the score and the true score.
        seed: of the choice of samples.

    Metrics: version, items and words of the rubric; correlation of score and true score over the rollouts of the batch
    (0 without a spread); after an update also bad (share of badly scored rollouts) and changed (1 for a new text).

    Raises:
        InputError: no item, or a number out of range. CheckpointError: a state without versions.

    Example:
        interval 10, 30 batches  ->  updates after batches 10, 20 and 30: versions 0, 1, 2 and 3

    Paper: arXiv:2504.20157 (MPO), the evolving reward model, by its released code.
    Unconfirmed: samples are of the batch before the update alone.
    Differs: the score of a text is that of its final turn.
    """

    def __init__(
        self,
        junior: JuniorModel,
        meta: MetaModel,
        *,
        initial: Rubric,
        interval: int = 10,
        samples: int = 20,
        words: int = WORDS,
        judged: str = "judged",
        truth: str = "quality",
        seed: int = 0,
    ):
        if not initial or interval < 0 or samples < 1 or words < 1:
            raise InputError(
                f"give one item or more, an interval from 0, and samples and words from 1, not {len(initial)} items, "
                f"{interval}, {samples} and {words}"
            )
        self.versions: list[Rubric] = [tuple(dict.fromkeys(initial))]
        self._junior, self._meta = junior, meta
        self._interval, self._samples = interval, samples
        self._words, self._seed = words, seed
        self._judged, self._truth = judged, truth

    @property
    def rubric(self) -> Rubric:
        """The latest version."""
        return self.versions[-1]

    def score(self, group: Group) -> np.ndarray:
        """[G] points of the final texts."""
        texts = [one.final_text.strip() for one in group]
        return np.array([add_scores(own) for own in self._junior.score(self.rubric, group.task, texts)], np.float64)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Update the rubric after every `interval`-th batch; returns metrics."""
        found = {
            "correlation": score_correlation(self._channel(groups, self._judged), self._channel(groups, self._truth))
        }
        if self._interval and (step + 1) % self._interval == 0:
            found |= self._update(self._scored(groups), step)
        return {
            "version": float(len(self.versions) - 1),
            "items": float(len(self.rubric)),
            "words": float(count_words(self.rubric)),
            **found,
        }

    def _update(self, scored: Sequence[RubricSample], step: int) -> dict[str, float]:
        before = self.rubric
        bad = self._meta.screen(before, scored)
        chosen = choose_samples(scored, bad, count=self._samples, seed=self._seed, step=step)
        critiques = [one for one in self._meta.analyse(before, chosen) if one]
        proposals = [one for one in self._meta.refine(before, critiques) if one]
        merged = self._meta.merge(before, within_budget(proposals, self._words)) if proposals else ()
        self.versions.append(tuple(dict.fromkeys(merged)) or before)
        return {"bad": float(np.mean(bad)) if bad else 0.0, "changed": float(self.rubric != before)}

    def _scored(self, groups: Sequence[RatedGroup]) -> list[RubricSample]:
        return [
            RubricSample(one.task, one.final_text.strip(), float(score))
            for rated in groups
            for one, score in zip(rated.group, rated.scores.channels[self._judged], strict=True)
            if np.isfinite(score)
        ]

    def _channel(self, groups: Sequence[RatedGroup], name: str) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(one.scores.channels[name] for one in groups)])

    def state_dict(self) -> dict[str, Any]:
        return {"versions": [list(one) for one in self.versions]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not state.get("versions"):
            raise CheckpointError("the checkpoint has no version of the rubric; it is of another run")
        self.versions = [tuple(one) for one in state["versions"]]


def choose_samples(
    samples: Sequence[RubricSample], bad: Sequence[bool], *, count: int, seed: int, step: int
) -> list[RubricSample]:
    """Take badly scored samples first, then others, up to `count`; each part in a random order.

    Example:
        samples a, b, c, of which b is bad, count 2  ->  b and one of a and c

    Paper: arXiv:2504.20157 (MPO), the prescreen, by its released code.
    Differs: nothing.
    """
    order = generator("mpo samples", seed, step).permutation(len(samples)).tolist()
    return [samples[k] for k in sorted(order, key=lambda k: not bad[k])[:count]]


def score_correlation(first_N: np.ndarray, second_N: np.ndarray) -> float:
    """Compute Pearson's correlation of the finite pairs; 0 without a spread.

    Example:
        1, 2, NaN, 3 and 2, 4, 9, 6  ->  1;  1, 1 and 2, 3  ->  0

    Idea: the reward of a policy that exploits it no longer rises with the true score.
    """
    known = np.isfinite(first_N) & np.isfinite(second_N)
    return pearson(first_N[known], second_N[known])
