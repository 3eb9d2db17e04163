"""Life-cycle of principles with a frozen policy: retrieve, play, distil, merge, score, prune."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Task, Trajectory
from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.ops.seeds import derive_seed, generator
from handaxe.papers.evolver.principle_store import Principle, PrincipleStore
from handaxe.worlds.hops.coded_hops import searched_path, with_cases

__all__ = ["distil", "evolve", "play_with_principles", "principle_line"]

SHOWN = 3
"""Principles of a prompt."""


def distil(one: Trajectory, *, success: bool) -> str:
    """Write the principle of a trajectory: guiding after a success, cautionary after a failure.

    Example:
        question "4071 K?", searches by boss and ally, success  ->  "+ K: boss ally";  failure  ->  "- K: boss ally"

    Paper: arXiv:2510.16079 (EvolveR), one principle of each trajectory, guiding or cautionary.
    Differs: a rule writes the principle; the paper's policy summarizes its trajectory.
    """
    return " ".join(["+" if success else "-", f"{one.task.metadata['code']}:", *searched_path(one)])


def principle_line(text: str) -> str:
    """Write a principle as a line that the policy reads, of nobody's question.

    Example:
        principle_line("+ K: boss ally") == "+ 0000 K: boss ally"
    """
    mark, rest = text.split(" ", 1)
    return f"{mark} 0000 {rest}"


def play_with_principles(
    policy: FrozenPolicy, tasks: Sequence[Task], store: PrincipleStore, *, seed: int, shown: int = SHOWN
) -> list[tuple[Trajectory, list[Principle], bool]]:
    """Play each task with the principles nearest to its code; returns trajectory, principles and success.

    The nearest principle is the last line, next to the question.

    Args:
        policy: in `coded_hops`.
        tasks: without cases.
        store: of principles.
        seed: of the rollouts.
        shown: principles of a prompt; 3 in the paper.
    """
    used = [store.retrieve(f"{task.metadata['code']}:", k=shown) for task in tasks]
    lines = [[principle_line(each.text) for each in reversed(own)] for own in used]
    played = policy.play([with_cases(task, own) for task, own in zip(tasks, lines)], seed=seed)
    return [(one, own, reward > 0.5) for (one, reward), own in zip(played, used, strict=True)]


def evolve(
    policy: FrozenPolicy,
    tasks: Sequence[Task],
    store: PrincipleStore,
    *,
    rounds: int,
    flips: float,
    seed: int,
) -> list[float]:
    """Play a stream in rounds; after each round principles are scored, distilled, merged and pruned.

    Args:
        policy: in `coded_hops`.
        tasks: played in every round.
        store: grows and shrinks.
        rounds: over the tasks.
        flips: share of the trajectories whose success is misjudged, 0 to 1: their principles are wrong.
        seed: of rollouts and flips.

    Returns:
        True success of each round.

    Paper: arXiv:2510.16079 (EvolveR), offline distillation after online interaction.
    Differs: the policy stays frozen; a round ends with pruning, in the paper every 10 steps.
    """
    success = list[float]()
    for number in range(rounds):
        found = play_with_principles(policy, tasks, store, seed=derive_seed(seed, "round", number))
        flip_T = generator("misjudged", seed, number).random(len(tasks)) < flips
        for (one, used, right), flip in zip(found, flip_T, strict=True):
            judged = right != bool(flip)
            for principle in used:
                principle.use(judged)
            if searched_path(one):
                store.offer(distil(one, success=judged), success=judged, trajectory=one.id)
        store.prune()
        success.append(float(np.mean([right for _, _, right in found])))
    return success
