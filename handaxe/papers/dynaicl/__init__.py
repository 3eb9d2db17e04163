"""DynaICL (arXiv:2305.11170): a controller chooses the number of demonstrations of each prompt under a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.records import Task
from handaxe.evaluation.frozen_policy import started_policy
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.dynaicl.count_controller import CountController, RunningBaseline
from handaxe.papers.dynaicl.count_rules import allocate_counts, count_reward, minimal_count
from handaxe.papers.dynaicl.shown_examples import ExamplePlayer, make_pool
from handaxe.tools.index.dense import embed
from handaxe.worlds.hops.coded_hops import coded_hops

__all__ = ["dynaicl"]

SHARES = (0.6, 0.3, 0.1)
"""Shares of the codes in the pool of demonstrations."""
PLAIN = 0.34
"""Share of questions that need no demonstration."""
BUDGETS = (1, 2, 3)
"""Mean demonstrations of a prompt."""


def dynaicl(
    *,
    seeds: int = 5,
    most: int = 4,
    prompts: int = 16,
    subsets: int = 2,
    threshold: float = 0.5,
    steps: int = 4,
    batch: int = 16,
    cost: float = 0.1,
    tasks: int = 24,
) -> StudyFunction:
    """Compare numbers of demonstrations by a controller with equal numbers, for a frozen policy in `coded_hops`.

    A demonstration is a line with a question and its chain of searches, drawn at random from a pool. Questions with
    named relations need none; a question with a code needs a demonstration of this code, frequent or rare in the pool.

    Figures:
        uniform/B, taught/B, reinforced/B    pass@1 with the budget of B demonstrations a prompt: equal numbers, and
                                             numbers of the controller after each stage
        ARM/B/used                           mean demonstrations of a prompt
        gain/B                               reinforced less uniform, mean over seeds; /low and /high are the ends of
                                             its 95 % interval. gain_taught/B: reinforced less taught
        gain_fewer                           reinforced/2 less uniform/3: two demonstrations instead of three
        plain/count, coded/count             mean predicted number of questions without and with a code
        taught/reward, reinforced/reward     mean of R on held-out prompts with numbers drawn from the controller;
                                             gain_reward is their difference

    Args:
        seeds: of prompts and rollouts, from the study's seed on.
        most: K, demonstrations of a prompt at most.
        prompts: training prompts with a label.
        subsets: random subsets of each number, for a label.
        threshold: t of the label.
        steps: of REINFORCE.
        batch: prompts of a step.
        cost: alpha.
        tasks: held-out prompts of a seed.
    """

    stages = _Stages(most, prompts, subsets, threshold, batch, cost)

    def measure(seed: int) -> dict[str, float]:
        taught = coded_hops(fresh=True, shown=4, absent=0.15, plain=0.2)
        world = coded_hops(codes=len(SHARES), shown=0, plain=PLAIN)
        pool = make_pool(world, shares=SHARES, count=40, seed=0)
        player = ExamplePlayer(started_policy(taught, world), pool)
        runs = []
        for number in range(seed, seed + seeds):
            learned, held_out = (
                world.tasks("train", prompts + steps * batch, number),
                world.tasks("test", tasks, number),
            )
            controllers = _train(player, learned, stages, seed=number)
            runs.append(_held_out(player, controllers, held_out, cost=cost, most=most, seed=number))
        return _figures({key: np.array([run[key] for run in runs]) for key in runs[0]})

    return measure


def _vectors(tasks: Sequence[Task]) -> np.ndarray:
    return np.asarray(embed([task.messages[-1].content for task in tasks]), np.float64)


class _Stages(NamedTuple):
    """Settings of the controller's training; see `dynaicl`."""

    most: int
    prompts: int
    subsets: int
    threshold: float
    batch: int
    cost: float


def _train(player: ExamplePlayer, learned: Sequence[Task], stages: _Stages, *, seed: int) -> dict[str, CountController]:
    """Train by labels, then by REINFORCE; returns the controllers of both stages."""
    labelled, rest = learned[: stages.prompts], learned[stages.prompts :]
    prompt_PD = _vectors(labelled)
    labels = _labels(player, labelled, stages, seed=derive_seed(seed, "label"))
    taught, reinforced = (CountController(prompt_PD.shape[1], most=stages.most, seed=seed) for _ in range(2))
    for one in (taught, reinforced):
        one.teach(prompt_PD, labels)
    baseline = RunningBaseline()
    for start in range(0, len(rest), stages.batch):
        some = rest[start : start + stages.batch]
        prompt_BD = _vectors(some)
        counts = reinforced.sample(prompt_BD)
        found = player.correct(some, counts, seed=derive_seed(seed, "reinforce", start))
        reward_B = [count_reward(own, count, cost=stages.cost) for own, count in zip(found, counts, strict=True)]
        reinforced.reinforce(prompt_BD, counts, reward_B, baseline=baseline.update(float(np.mean(reward_B))))
    return {"taught": taught, "reinforced": reinforced}


def _labels(player: ExamplePlayer, tasks: Sequence[Task], stages: _Stages, *, seed: int) -> list[int]:
    """Smallest numbers of demonstrations with enough accuracy over random subsets."""
    counts = range(stages.most + 1)
    repeated = [(task, count) for task in tasks for count in counts for _ in range(stages.subsets)]
    right = player.correct([task for task, _ in repeated], [count for _, count in repeated], seed=seed)
    accuracy_PK = np.array(right).reshape(len(tasks), len(counts), stages.subsets).mean(axis=2)
    return [minimal_count(accuracy_K.tolist(), threshold=stages.threshold) for accuracy_K in accuracy_PK]


def _held_out(
    player: ExamplePlayer,
    controllers: Mapping[str, CountController],
    tasks: Sequence[Task],
    *,
    cost: float,
    most: int,
    seed: int,
) -> dict[str, float]:
    prompt_PD, own = _vectors(tasks), derive_seed(seed, "held out")
    predicted = {name: one.expected(prompt_PD) for name, one in controllers.items()}
    figures = dict[str, float]()
    for budget in BUDGETS:
        arms = {name: _allocation(wanted_P, budget, most) for name, wanted_P in predicted.items()}
        for name, counts in {"uniform": [budget] * len(tasks), **arms}.items():
            figures[f"{name}/{budget}"] = float(np.mean(player.correct(tasks, counts, seed=own)))
            figures[f"{name}/{budget}/used"] = float(np.mean(counts))
    for name, one in controllers.items():
        counts = one.sample(prompt_PD)
        found = player.correct(tasks, counts, seed=own)
        rewards = [count_reward(own, count, cost=cost) for own, count in zip(found, counts, strict=True)]
        figures[f"{name}/reward"] = float(np.mean(rewards))
    is_plain = np.array([task.metadata["code"] == "plain" for task in tasks])
    for name, mask_P in (("plain", is_plain), ("coded", ~is_plain)):
        figures[f"{name}/count"] = float(predicted["reinforced"][mask_P].mean())
    return figures


def _allocation(wanted_P: np.ndarray, budget: int, most: int) -> list[int]:
    """Numbers under a budget of `budget` demonstrations a prompt: the length of a demonstration is the unit."""
    counts = allocate_counts(wanted_P.tolist(), tokens=float(budget * len(wanted_P)), length=1.0, most=most)
    for place in np.argsort(wanted_P):  # rounding up may exceed the budget: the smallest predictions give way
        if sum(counts) <= budget * len(wanted_P):
            break
        counts[place] = max(0, counts[place] - 1)
    return counts


def _figures(found_S: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Means over seeds, and paired differences."""
    figures = {key: float(np.nanmean(own)) for key, own in found_S.items()}
    for budget in BUDGETS:
        ours = found_S[f"reinforced/{budget}"]
        figures |= interval_figures(f"gain/{budget}", ours - found_S[f"uniform/{budget}"])
        figures |= interval_figures(f"gain_taught/{budget}", ours - found_S[f"taught/{budget}"])
    figures |= interval_figures("gain_reward", found_S["reinforced/reward"] - found_S["taught/reward"])
    return figures | interval_figures("gain_fewer", found_S["reinforced/2"] - found_S["uniform/3"])
