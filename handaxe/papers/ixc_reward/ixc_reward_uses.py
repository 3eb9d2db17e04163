"""Uses of IXC-2.5-Reward without RL: balanced pairs, best of n, and a filter of noisy demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from handaxe.core.protocols import Judge
from handaxe.core.records import Group, Sampling, Trajectory
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.evaluation.rank_figures import rank_figures
from handaxe.judges.drawing_model import DrawingModel, fit_drawing_model, message_scores, pair_accuracy
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.judges.viewed import Viewed
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.ixc_reward.above_quantile import above_quantile
from handaxe.papers.ixc_reward.balanced_model import modality_pairs
from handaxe.papers.ixc_reward.noisy_drawings import noisy_drawings
from handaxe.training.sft.cold_start import start_policy
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach
from handaxe.worlds.canvas.canvas import canvas, final_fidelity
from handaxe.worlds.world import World

__all__ = ["ixc_reward_uses"]

GAINS = {
    "gain/extra": ("extra/balanced", "extra/plain"),
    "gain/best": ("best", "random"),
    "gain/noise": ("wrong/all", "wrong/kept"),
    "gain/sft": ("sft/kept", "sft/all"),
}
SAMPLING = Sampling(temperature=1.0, max_tokens=48)
TURNS = 3
RATE = 3e-4
EPOCHS = 2
"""Passes over the pairs."""


def ixc_reward_uses(
    *,
    seeds: int = 3,
    labels: int = 960,
    held_out: int = 100,
    tasks: int = 24,
    samples: int = 6,
    lessons: int = 96,
    wrong: float = 0.3,
    quantile: float = 0.25,
    skill: int = 90,
) -> StudyFunction:
    """Fit reward models of drawings with and without balanced lengths, choose the best of n, and filter demonstrations.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        extra/balanced, extra/plain   accuracy on pairs of images whose rejected side has another object in addition;
                                      the training pairs have no such error
        equal/balanced, equal/plain   accuracy on pairs of images with a wrong colour or place
        gain/extra                    extra/balanced less extra/plain
        best, random, oracle          fidelity of the rollout with the greatest score, of a random one, of the best one
        gain/best                     best less random
        wrong/all, wrong/kept         share of demonstrations in error, before and after the filter
        gain/noise                    wrong/all less wrong/kept
        sft/all, sft/kept             fidelity after fine-tuning on all demonstrations, and on the kept ones
        gain/sft                      sft/kept less sft/all

    Args:
        seeds: from the study's seed on.
        labels: requests with a pair.
        held_out: requests with a pair that measure.
        tasks: held-out requests of rollouts.
        samples: n, rollouts of a request.
        lessons: demonstrations.
        wrong: share of demonstrations in error.
        quantile: share that the filter drops.
        skill: steps of exact demonstrations in the cold start, from which policy and reward models start.

    Example:
        fidelity 0.8 of the best and 0.6 of a random rollout  ->  gain/best 0.2

    Paper: IXC-2.5-Reward, best of n at test time and cleaning of instruction data.
    Differs: both uses are measured in drawings whose fidelity is known.
    """

    def measure(seed: int) -> dict[str, float]:
        drawn = canvas(changes=0.0, colours=2, shapes=2)
        world = replace(drawn, start=drawn.need("start")._replace(skill=skill))
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            models = {
                name: fit_drawing_model(
                    modality_pairs(world.tasks("train", labels, number), most=most, seed=number),
                    policy=start_policy(world),
                    epochs=EPOCHS,
                )
                for name, most in (("balanced", 1.5), ("plain", inf))
            }
            judge = DrawingModel(partial(models.__getitem__, "balanced"))
            given = world.tasks("train", lessons, number)
            demonstrated = noisy_drawings(world, given, format=start_policy(world).format, wrong=wrong, seed=number)
            kept = _kept(judge, demonstrated, quantile)
            found = _accuracies(models, world, held_out, number)
            found |= _best(judge, _played(world, (), tasks, samples, number))
            found |= {"wrong/all": _wrong(demonstrated), "wrong/kept": _wrong(kept)}
            for name, used in (("all", demonstrated), ("kept", kept)):
                found[f"sft/{name}"] = _best(judge, _played(world, used, tasks, samples, number))["random"]
            for name, value in found.items():
                columns.setdefault(name, []).append(value)
        return column_figures(columns, GAINS)

    return measure


def _accuracies(models: Mapping[str, Viewed], world: World, count: int, seed: int) -> dict[str, float]:
    tasks, found = world.tasks("test", count, HELD_OUT + seed), dict[str, float]()
    kinds = {
        "extra": drawing_pairs(tasks, seed=seed, errors=("extra",)),
        "equal": drawing_pairs(tasks, seed=seed, errors=("colour", "place")),
    }
    for name, judge in models.items():
        for kind, pairs in kinds.items():
            found[f"{kind}/{name}"] = pair_accuracy(message_scores(judge.judge, pairs, judge.format))
    return found


def _kept(judge: Judge, demonstrated: Sequence[Trajectory], quantile: float) -> list[Trajectory]:
    rated = above_quantile(judge=judge, quantile=quantile)([as_rated([one]) for one in demonstrated])
    return [one.group[0] for one in rated if one.trained[0]]


def _wrong(demonstrated: Sequence[Trajectory]) -> float:
    return float(np.mean([final_fidelity(one) < 1 for one in demonstrated]))


def _played(world: World, lessons: Sequence[Trajectory], tasks: int, samples: int, seed: int) -> list[Group]:
    """Rollouts of the world's cold start, fine-tuned on lessons if there are any."""
    play = policy_rollouts(world, policy=start_policy(world), turns=TURNS, sampling=SAMPLING)
    site = make_site(engine=play.engine, format=play.format, seed=seed)
    teach(source=scripted(trajectories=lessons), learning_rate=RATE, optional=True)(site)
    return [group for group, _ in play("test", tasks=tasks, samples=samples, seed=HELD_OUT + seed)]


def _best(judge: Judge, groups: Sequence[Group]) -> dict[str, float]:
    truth_TG = [np.array([final_fidelity(one) for one in group]) for group in groups]
    ranked = rank_figures([judge.score(group) for group in groups], truth_TG)
    return {"best": ranked.best, "random": ranked.random, "oracle": float(np.mean([own.max() for own in truth_TG]))}
