"""Training of the controller by labels, then by REINFORCE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.records import Task
from handaxe.ops.seeds import derive_seed
from handaxe.papers.dynaicl.count_controller import CountController, RunningBaseline
from handaxe.papers.dynaicl.count_rules import count_reward, minimal_count
from handaxe.papers.dynaicl.shown_examples import ExamplePlayer
from handaxe.tools.index.dense import embed

__all__ = ["ControllerStages", "prompt_vectors", "train_controllers"]


class ControllerStages(NamedTuple):
    """Settings of the controller's training; see `dynaicl`."""

    most: int
    prompts: int
    subsets: int
    threshold: float
    batch: int
    cost: float


def prompt_vectors(tasks: Sequence[Task]) -> np.ndarray:
    """Embed the questions of tasks: [P, D] float64."""
    return np.asarray(embed([task.messages[-1].content for task in tasks]), np.float64)


def train_controllers(
    player: ExamplePlayer, learned: Sequence[Task], stages: ControllerStages, *, seed: int
) -> dict[str, CountController]:
    """Train by labels, then by REINFORCE; returns the controllers of both stages.

    Args:
        player: frozen policy with the pool.
        learned: prompts with a label, then the prompts of REINFORCE.
        stages: settings.
        seed: of the controller and the draws.

    Example:
        prompts 16, batch 16 and 48 tasks: 16 labels, then two steps

    Paper: arXiv:2305.11170 (DynaICL), both stages.
    Differs: a small network on frozen vectors is the controller.
    """
    labelled, rest = learned[: stages.prompts], learned[stages.prompts :]
    prompt_PD = prompt_vectors(labelled)
    labels = _labels(player, labelled, stages, seed=derive_seed(seed, "label"))
    taught, reinforced = (CountController(prompt_PD.shape[1], most=stages.most, seed=seed) for _ in range(2))
    for one in (taught, reinforced):
        one.teach(prompt_PD, labels)
    baseline = RunningBaseline()
    for start in range(0, len(rest), stages.batch):
        some = rest[start : start + stages.batch]
        prompt_BD = prompt_vectors(some)
        counts = reinforced.sample(prompt_BD)
        found = player.correct(some, counts, seed=derive_seed(seed, "reinforce", start))
        reward_B = [count_reward(own, count, cost=stages.cost) for own, count in zip(found, counts, strict=True)]
        reinforced.reinforce(prompt_BD, counts, reward_B, baseline=baseline.update(float(np.mean(reward_B))))
    return {"taught": taught, "reinforced": reinforced}


def _labels(player: ExamplePlayer, tasks: Sequence[Task], stages: ControllerStages, *, seed: int) -> list[int]:
    """Smallest numbers of demonstrations with enough accuracy over random subsets."""
    counts = range(stages.most + 1)
    repeated = [(task, count) for task in tasks for count in counts for _ in range(stages.subsets)]
    right = player.correct([task for task, _ in repeated], [count for _, count in repeated], seed=seed)
    accuracy_PK = np.array(right).reshape(len(tasks), len(counts), stages.subsets).mean(axis=2)
    return [minimal_count(accuracy_K.tolist(), threshold=stages.threshold) for accuracy_K in accuracy_PK]
