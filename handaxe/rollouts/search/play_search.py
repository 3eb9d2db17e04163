"""Plays searches on tasks, with answers and numbers of sampled tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from handaxe.core.protocols import ChatFormat, Engine, EnvFactory, Rollout
from handaxe.core.records import Group, Sampling, Task
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.ops.turn_tree import total_usage
from handaxe.rollouts.driver import run
from handaxe.rollouts.search.value_search import CHOSEN

__all__ = ["Played", "SearchPlayer"]


class Played(NamedTuple):
    """Trajectories of a search on one task, the index of the answer (None without one), and sampled tokens."""

    group: Group
    answer: int | None
    tokens: int


class SearchPlayer:
    """Plays a search on tasks, all at once and in lockstep.

    Args:
        env: of the tasks.
        engine, format: the policy.
        sampling: temperature and most tokens of a turn.

    Example:
        SearchPlayer(env, engine, format, sampling)(best_of(tokens=150), [(3, task)])[0].tokens  ->  170

    Idea: searches are compared at equal tokens, and the tokens of a tree are counted once.
    """

    def __init__(self, env: EnvFactory, engine: Engine, format: ChatFormat, sampling: Sampling) -> None:
        self._env = env
        self._engine = engine
        self._format = format
        self._sampling = sampling

    def __call__(
        self,
        search: Rollout,
        given: Sequence[tuple[int, Task]],
        *,
        samples: int = 1,
        temperature: float | None = None,
    ) -> list[Played]:
        """Play the search; the only trajectory of a strategy without a choice is the answer.

        Args:
            search: such as `value_search`, `best_of`, `best_step` or `linear`.
            given: seeds of rollouts and tasks.
            samples: plays of a task, all in its group.
            temperature: another temperature of sampling; 0 is greedy decoding.
        """
        sampling = self._sampling
        if temperature is not None:
            sampling = replace(sampling, temperature=temperature)
        attempts = [
            Attempt(
                task=task,
                env=self._env,
                format=self._format,
                sampling=sampling,
                id=f"{task.id}/{k}",
                sample=k,
                seed=derive_seed(seed, task.id, k),
                context=self._engine.max_length,
            )
            for seed, task in given
            for k in range(samples)
        ]
        found = run(attempts, search, self._engine, workers=1, lockstep=True)
        return [
            _played(Group(task, tuple(one for own in found[n * samples : (n + 1) * samples] for one in own)))
            for n, (_, task) in enumerate(given)
        ]


def _played(group: Group) -> Played:
    chosen = [i for i, one in enumerate(group) if one.notes.get(CHOSEN, len(group) == 1)]
    tokens = group[0].usage.tokens if len(group) == 1 else total_usage(group).tokens  # usage: with turns taken back
    return Played(group, chosen[0] if chosen else None, tokens)
