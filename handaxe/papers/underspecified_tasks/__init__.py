"""Task underspecification (arXiv:2210.08607): rankings of methods on one task against a family of tasks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Sampling
from handaxe.evaluation.benchmarks.families import FAMILIES, sums_world
from handaxe.evaluation.benchmarks.families_table import TaskFamily
from handaxe.evaluation.benchmarks.family_estimates import (
    family_mean,
    medoid_weights,
    medoids_error,
    point_gap,
    random_error,
)
from handaxe.evaluation.evaluate import evaluate
from handaxe.methods.method import StudyFunction
from handaxe.papers.underspecified_tasks.frozen_lakes import frozen_lake, success_share
from handaxe.papers.underspecified_tasks.rank_flips import other_best, rank_flips
from handaxe.papers.underspecified_tasks.train_tabular import METHODS, train_tabular
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.gym import gym

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["underspecified_tasks"]

LAKES = TaskFamily({"size": (4, 6, 8), "chosen": (33, 67, 100)}, (4, 33))
"""Frozen lakes; the point is the default of gymnasium."""
SUMS = FAMILIES["sums"]
SOME = 3
"""Members of an estimate from a subset."""
AGENTS = ("tiny", "start", "mental")


def underspecified_tasks(*, steps: int = 20_000, repeats: int = 5, tasks: int = 20) -> StudyFunction:
    """Train four tabular methods on every lake of a family, and play sums of nine sizes with three agents.

    Figures:
        FAMILY/NAME/point, FAMILY/NAME/family    score of a method or agent on one member, and mean over all
        FAMILY/flips, FAMILY/other_best, FAMILY/flips/point   see `rank_flips`; the last is of the point alone
        FAMILY/error/point, .../random, .../medoids, .../gap  mean error of the family's score over the names, from one
                                                 member, 3 random members, 3 medoids; and point less random
    The agents are the packaged policy with the calculator (tiny) and without tools (mental), and the cold-start
    checkpoint of `gym` with the calculator (start).

    Args:
        steps: of a training on a lake.
        repeats: trainings of each method on each lake.
        tasks: held-out sums of each size.
    """

    def measure(seed: int) -> dict[str, float]:
        lakes = _lake_scores(steps, repeats, seed)
        return _figures("lakes", LAKES, lakes) | _figures("sums", SUMS, _sum_scores(tasks, seed))

    return measure


def _lake_scores(steps: int, repeats: int, seed: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for member in LAKES.members():
        lake = frozen_lake(*member)
        for method in METHODS:
            trained = [train_tabular(lake, method, steps=steps, seed=seed + number) for number in range(repeats)]
            found[method].append(float(np.mean([success_share(lake, policy_S) for policy_S in trained])))
    return found


def _sum_scores(tasks: int, seed: int) -> dict[str, list[float]]:
    tiny = loading.load("tiny")
    policies = {"tiny": tiny, "start": start_policy(gym()), "mental": tiny}
    found: dict[str, list[float]] = {name: [] for name in AGENTS}
    for member in SUMS.members():
        world = sums_world(*member)
        asked = world.tasks("test", tasks, seed)
        for name, policy in policies.items():
            played = evaluate(
                engine=local.LocalEngine(policy.model),
                format=policy.format,
                env=world.env(() if name == "mental" else world.tools),
                rollout=world.make_rollout(8),
                tasks=asked,
                reward=world.correct,
                sampling=Sampling(temperature=0.0, max_tokens=128),
                seed=seed,
            )
            found[name].append(played.metrics["pass@1"].value)
    return found


def _figures(name: str, family: TaskFamily, scores: Mapping[str, list[float]]) -> dict[str, float]:
    point = family.members().index(family.point)
    weights = medoid_weights(np.array(family.members()), SOME)
    score_KM = np.array(list(scores.values()))
    figures = dict[str, float]()
    for one, score_M in scores.items():
        figures[f"{one}/point"] = score_M[point]
        figures[f"{one}/family"] = family_mean(score_M)
    errors = {
        "point": [abs(point_gap(score_M, point)) for score_M in scores.values()],
        "random": [random_error(score_M, SOME) for score_M in scores.values()],
        "medoids": [medoids_error(score_M, weights) for score_M in scores.values()],
    }
    figures |= {f"error/{kind}": float(np.mean(values)) for kind, values in errors.items()}
    figures["error/gap"] = figures["error/point"] - figures["error/random"]
    figures["flips"] = rank_flips(score_KM)
    figures["other_best"] = other_best(score_KM)
    figures["flips/point"] = rank_flips(score_KM, [point])
    return {f"{name}/{key}": float(value) for key, value in figures.items()}
