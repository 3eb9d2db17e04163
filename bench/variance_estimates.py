"""Estimates of bench/variance.py: variance of a pair by source, and of other settings, from the values of runs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from handaxe.evaluation.variance import VarianceComponents, explained_share, interaction_variance, variance_components

REFERENCE = 200
"""Held-out tasks of the reference setting, with one sample each."""
TWICE = "twice the pairs"


class Cells(NamedTuple):
    """Values of one side in S pairs; NaN for a task without the figure.

    start_SF      before training;  late_SLF  at the two evaluations before the last;  both of the first F tasks
    end_STK       after training, K = 2 samples
    exact_ST      probability of the correct text; None unless a rollout is one turn with one correct text
    train, rollout, exact    processor seconds of the training of a run, of an evaluated rollout, of a probability
    """

    start_SF: np.ndarray
    late_SLF: np.ndarray
    end_STK: np.ndarray
    exact_ST: np.ndarray | None
    train: float
    rollout: float
    exact: float = 0.0

    @classmethod
    def read(cls, runs: list[dict[str, Any]]) -> Cells:
        """Cells of the runs' files."""
        start, late, end = (
            np.array([run[name] for run in runs], dtype=np.float64) for name in ("start", "late", "end")
        )
        exact = [run["exact"] for run in runs if run["exact"] is not None]
        return cls(
            start,
            late,
            np.moveaxis(end, 1, 2),
            np.array([one["probability"] for one in exact]) if exact else None,
            *(float(np.mean([run[name] for run in runs])) for name in ("train_seconds", "rollout_seconds")),
            float(np.mean([one["seconds"] for one in exact])) if exact else 0.0,
        )


class Reduction(NamedTuple):
    """Variance of a pair and seconds of its runs, both relative to the reference setting.

    halving   seconds for half the variance, relative to the reference: with more pairs if one change is not enough
    """

    variance: float
    seconds: float

    @property
    def halving(self) -> float:
        return self.seconds * max(1.0, 2.0 * self.variance)


class Estimates(NamedTuple):
    """Variance of the difference of a pair, by parts; `tasks` is the number of held-out tasks with the figure.

    parts      components; the seed's is the rest of the variance of measured and stored pairs
    own        variance of a pair by the measured pairs alone, in the reference setting
    alone      sum over both sides of the variance of a run, and of the variance by sampling
    averaged   variance by tasks and samples of the mean of the last three evaluations, relative to the last
    explained  share of the variance by tasks and samples that the start explains
    """

    tasks: int
    parts: VarianceComponents
    own: float
    alone: tuple[float, float]
    averaged: float
    explained: float

    @property
    def rest(self) -> float:
        """Variance of a pair by tasks and samples."""
        return (self.parts.seed_task + self.parts.sampling) / self.tasks

    @property
    def now(self) -> float:
        """Variance of a pair in the reference setting."""
        return self.parts.seed + self.rest


def estimate_claim(ours: Cells, theirs: Cells, *, stored: list[float]) -> dict[str, Any]:
    """Shares of the components, and variance and seconds of each setting relative to the reference.

    The variance of a pair in the reference setting is that of the measured and the stored pairs, weighted by degrees of
    freedom. Its part by tasks and samples is measured in thousands of cells; the rest is that of the training seed, and
    assumed equal for the mean of the last three evaluations.
    """
    known = _known_tasks(ours, theirs)
    early = known[: ours.start_SF.shape[1]]
    first_SF = (ours.end_STK - theirs.end_STK)[:, : len(early), 0][:, early]
    late_SLF = (ours.late_SLF - theirs.late_SLF)[:, :, early]
    three_SF = (late_SLF.sum(axis=1) + first_SF) / (late_SLF.shape[1] + 1)
    sides = [one.end_STK[:, known] for one in (ours, theirs)]
    measured, *alone = (variance_components(one) for one in (sides[0] - sides[1], *sides))
    count = int(early.sum())
    free = len(first_SF) - 1
    more = max(0, len(stored) - 1)
    own = measured.of_pair(tasks=count)
    now = (free * own + (more * float(np.var(stored, ddof=1)) if more else 0.0)) / (free + more)
    made = Estimates(
        tasks=count,
        parts=measured._replace(seed=now - (measured.seed_task + measured.sampling) / count),
        own=own,
        alone=(sum(one.of_pair(tasks=count) for one in alone), sum(one.sampling for one in alone)),
        averaged=_ratio(interaction_variance(three_SF), interaction_variance(first_SF)),
        explained=explained_share(first_SF, ours.start_SF[:, early]),
    )
    found = _settings(made, ours, theirs)
    parts = made.parts
    return {
        "tasks": count,
        "deviation": math.sqrt(now),
        "deviation_measured": math.sqrt(own),
        "stored_pairs": len(stored),
        "shares": {
            "seed": parts.seed / now,
            "tasks": parts.seed_task / count / now,
            "sampling": parts.sampling / count / now,
        },
        "offset": math.sqrt(max(0.0, parts.task) / count),
        "last_three": {"measured": _spread(three_SF) / now, "last": _spread(first_SF) / now, "free": free},
        "shift": float(three_SF.mean() - first_SF.mean()),
        "exact": _exact_check(ours, theirs, known),
        "independent": {
            "other draws in evaluations": (parts.seed + (parts.seed_task + made.alone[1]) / count) / now,
            "other seeds": _ratio(made.alone[0], own),
        },
        "settings": {name: {**one._asdict(), "halving": one.halving} for name, one in found.items()},
        "cheapest": min(found, key=lambda name: round(found[name].halving, 1)),  # of equal ones, twice the pairs
    }


def _settings(made: Estimates, ours: Cells, theirs: Cells) -> dict[str, Reduction]:
    """Name -> setting, relative to the reference: `few` tasks and one sample, before and after training."""
    few = ours.start_SF.shape[1]
    parts = made.parts
    count = made.tasks
    train, rollout, exact = ((one + other) / 2 for one, other in zip(ours[-3:], theirs[-3:]))

    def setting(variance: float, rollouts: int, each: float = rollout) -> Reduction:
        """With the variance of a pair, and the rollouts of all evaluations of a run, of `each` seconds."""
        return Reduction(variance / made.now, (train + rollouts * each) / (train + 2 * few * rollout))

    found = {
        TWICE: Reduction(0.5, 2.0),
        "400 tasks": setting(parts.of_pair(tasks=2 * count), 4 * few),
        "200 tasks, 2 samples": setting(parts.of_pair(tasks=count, samples=2), 4 * few),
        "400 tasks, 2 samples": setting(parts.of_pair(tasks=2 * count, samples=2), 8 * few),
        "mean of the last three evaluations": setting(parts.seed + made.averaged * made.rest, 4 * few),
        "start as covariate": setting(made.now - made.explained * made.rest, 2 * few),
    }
    if ours.exact_ST is not None:
        found["exact probability"] = setting(parts.seed + parts.seed_task / count, 2 * few, exact)
    return found


def _known_tasks(ours: Cells, theirs: Cells) -> np.ndarray:
    """[T] tasks with a value in every evaluation of both sides."""
    found = np.ones(ours.end_STK.shape[1], dtype=bool)
    for one in (ours, theirs):
        found &= np.isfinite(one.end_STK).all(axis=(0, 2))
        few = one.start_SF.shape[1]
        found[:few] &= np.isfinite(one.late_SLF).all(axis=(0, 1)) & np.isfinite(one.start_SF).all(axis=0)
    return found


def _ratio(top: float, bottom: float) -> float:
    """Ratio of variances; 1 without variance, in runs of few tasks."""
    return top / bottom if bottom > 0 else 1.0


def _spread(values_SF: np.ndarray) -> float:
    """Variance of the pairs' means."""
    return float(values_SF.mean(axis=1).var(ddof=1))


def _exact_check(ours: Cells, theirs: Cells, known: np.ndarray) -> dict[str, float] | None:
    """Mean of each side by sampling and by the exact probability."""
    if ours.exact_ST is None or theirs.exact_ST is None:
        return None
    made = {"ours": ours, "theirs": theirs}
    sampled = {f"{name}_sampled": float(one.end_STK[:, known].mean()) for name, one in made.items()}
    return sampled | {f"{name}_exact": float(one.exact_ST[:, known].mean()) for name, one in made.items()}


def pool(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Median, least and greatest value over the claims, for shares, settings and independent draws."""
    if not rows:
        return {}

    def over(values: list[float]) -> list[float]:
        return [float(np.median(values)), min(values), max(values)]

    names = dict.fromkeys(name for row in rows for name in row["settings"])
    weighted = {
        key: sum(row["last_three"][key] * row["last_three"]["free"] for row in rows) for key in ("measured", "last")
    }
    return {
        "last_three": {
            "ratio": _ratio(weighted["measured"], weighted["last"]),
            "free": sum(row["last_three"]["free"] for row in rows),
        },
        "shares": {name: over([row["shares"][name] for row in rows]) for name in rows[0]["shares"]},
        "independent": {name: over([row["independent"][name] for row in rows]) for name in rows[0]["independent"]},
        "settings": {
            name: {
                key: over([row["settings"][name][key] for row in rows if name in row["settings"]])
                for key in ("variance", "seconds", "halving")
            }
            for name in names
        },
    }
