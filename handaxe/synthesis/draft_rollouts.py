"""Scored rollouts at the tasks of drafts: of a policy, or by rule of an expert with mistakes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Group, Sampling, Scores, Task, Trajectory
from handaxe.evaluation.evaluate import play_scored
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.scoring import score_group
from handaxe.synthesis.context import MeasuredPolicy
from handaxe.synthesis.step import SynthesisContext
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import noisy_expert, wrong_guess
from handaxe.worlds.world import DemonstrationNoise, World

__all__ = ["DraftRollouts", "scored_ones"]

NOISE = DemonstrationNoise(call_rate=0.8, spurious_rate=0.1, corrupt_rate=0.2)
POOL = 64
"""Training tasks whose answers are wrong guesses at other tasks."""


@dataclass(frozen=True)
class DraftRollouts:
    """Plays the tasks of drafts, `samples` rollouts each.

        policy   rollouts at temperature 1
        None     the rule: the expert of the world with omitted, spurious and corrupted calls

    A rollout depends on its task, the seed and its number, and not on the other tasks of a call.

    Args:
        world: its rule scores; for the rule, it has an expert.
        env: of the tasks.
        policy: that plays; None for the rule.
        samples: rollouts of a task, 1 or more.
        max_turns, max_tokens: of a rollout, and of a turn of the policy.
        tools: False plays without tools.

    Raises:
        InputError: a number below 1, or the rule in a world without an expert. VerifierError: while playing, no
            rollout could be scored.

    Example:
        DraftRollouts(world, env, samples=4).play([task], SynthesisContext(0)) -> [(4 rollouts, their scores)]

    Idea: steps that need rollouts ask for them in one way, whether a policy plays or a rule.
    """

    world: World
    env: EnvFactory
    policy: MeasuredPolicy | None = None
    samples: int = 4
    max_turns: int = 8
    max_tokens: int = 64
    tools: bool = True

    def __post_init__(self) -> None:
        if min(self.samples, self.max_turns, self.max_tokens) < 1:
            raise InputError(
                f"rollouts take samples, turns and tokens from 1, not {self.samples}, {self.max_turns} and "
                f"{self.max_tokens}"
            )
        if self.policy is None:
            self.world.need("expert")

    @property
    def settings(self) -> Mapping[str, Any]:
        """JSON on which the rollouts depend."""
        by = "rule" if self.policy is None else self.policy.digest
        limits = {"max_turns": self.max_turns, "max_tokens": self.max_tokens, "tools": self.tools}
        return {"by": by, "samples": self.samples, **limits}

    def play(self, tasks: Sequence[Task], at: SynthesisContext) -> list[tuple[Group, Scores]]:
        """A group of rollouts and scores for each task."""
        if not tasks:
            return []
        shown = tasks if self.tools else [replace(one, tools=()) for one in tasks]
        if self.policy is None:
            return at.map(lambda task: self._by_rule(task, at.seed), shown)
        return play_scored(
            engine=self.policy.engine,
            env=self.env,
            format=self.policy.format,
            rollout=self.world.make_rollout(self.max_turns),
            tasks=shown,
            reward=self.world.correct,
            sampling=Sampling(max_tokens=self.max_tokens),
            samples=self.samples,
            seed=at.seed,
            workers=at.workers,
            lockstep=True,
        )

    @cached_property
    def _guesses(self) -> list[Any]:
        return [one.answer for one in self.world.tasks("train", POOL, 0)]

    def _by_rule(self, task: Task, seed: int) -> tuple[Group, Scores]:
        played = [self._with_mistakes(task, derive_seed("mistakes", seed, task.id, k), k) for k in range(self.samples)]
        return score_group(self.world.correct, Group(task, tuple(played)))

    def _with_mistakes(self, task: Task, seed: int, number: int) -> Trajectory:
        others = [one for one in self._guesses if one != task.answer]
        guess = wrong_guess(task.answer, others, random.Random(seed))
        speaker = noisy_expert(self.world.need("expert"), NOISE, guesses=[guess], seed=seed)
        rollout = self.world.make_rollout(self.max_turns)
        return demonstrate(
            self.env, task, speaker, format=Transcript(), id=f"{task.id}/{number}", seed=seed, rollout=rollout
        )


def scored_ones(group: Group, scores: Scores) -> list[tuple[Trajectory, float]]:
    """The scored rollouts, with outcomes.

    Example:
        outcomes 1, NaN of a dead tool, 0  ->  the first with 1.0 and the third with 0.0
    """
    return [(one, float(value)) for one, value in zip(group, scores.outcome, strict=True) if value == value]
