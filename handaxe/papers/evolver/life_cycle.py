"""Life-cycle of principles with a frozen policy: retrieve, play, distil, merge, score, prune."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Group, Sampling, Task, Trajectory
from handaxe.ops.seeds import derive_seed, generator
from handaxe.papers.evolver.principle_store import Principle, PrincipleStore
from handaxe.rollouts.driver.play_tasks import play_tasks
from handaxe.rollouts.linear import linear
from handaxe.worlds.hops.coded_hops import searched_path, with_cases
from handaxe.worlds.world import World

__all__ = ["PrinciplePlayer", "distil", "evolve", "principle_line"]


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


class PrinciplePlayer(NamedTuple):
    """Frozen policy in `coded_hops`, and number of principles of a prompt."""

    world: World
    engine: Engine
    format: ChatFormat
    shown: int = 3
    max_turns: int = 4
    max_tokens: int = 64
    temperature: float = 0.5

    def play(
        self, tasks: Sequence[Task], store: PrincipleStore, *, seed: int
    ) -> list[tuple[Trajectory, list[Principle], bool]]:
        """Play each task with the principles nearest to its code; returns trajectory, principles and success.

        The nearest principle is the last line, next to the question.
        """
        used = [store.retrieve(f"{task.metadata['code']}:", k=self.shown) for task in tasks]
        prompted = [
            with_cases(task, [principle_line(each.text) for each in reversed(own)]) for task, own in zip(tasks, used)
        ]
        played = play_tasks(
            prompted,
            env=self.world.env(self.world.tools),
            rollout=linear(max_turns=self.max_turns),
            engine=self.engine,
            format=self.format,
            sampling=Sampling(max_tokens=self.max_tokens, temperature=self.temperature),
            seed=seed,
        )
        right = [float(self.world.correct(Group(one.task, (one,))).outcome[0]) > 0.5 for one in played]
        return list(zip(played, used, right, strict=True))


def evolve(
    player: PrinciplePlayer,
    tasks: Sequence[Task],
    store: PrincipleStore,
    *,
    rounds: int,
    flips: float,
    seed: int,
) -> list[float]:
    """Play a stream in rounds; after each round principles are scored, distilled, merged and pruned.

    Args:
        player: frozen policy.
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
        found = player.play(tasks, store, seed=derive_seed(seed, "round", number))
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
