"""A policy that plays tasks of a world and does not learn, for studies of prompts and memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import ChatFormat, Engine, Rollout
from handaxe.core.records import Group, Sampling, Task, Trajectory
from handaxe.rollouts.driver.play_tasks import play_tasks
from handaxe.rollouts.linear import linear
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["FrozenPolicy", "started_policy"]


class FrozenPolicy(NamedTuple):
    """Policy, world and limits of a rollout; limits are per rollout (turns) and per turn (tokens).

    Example:
        FrozenPolicy(world, engine, format).play(world.tasks("test", 24, 0), seed=0): 24 pairs of trajectory and reward

    Idea: a study changes prompts, and everything else stays equal.
    """

    world: World
    engine: Engine
    format: ChatFormat
    max_turns: int = 4
    max_tokens: int = 64
    temperature: float = 0.5

    def play(
        self, tasks: Sequence[Task], *, seed: int, rollout: Rollout | None = None
    ) -> list[tuple[Trajectory, float]]:
        """Play each task once with draws by seed, place and task id, see `play_tasks`.

        Args:
            tasks: of the world, with or without additions to the prompt.
            seed: of the draws.
            rollout: the strategy; None is `linear`.

        Returns:
            Trajectory and reward by the rule of the world, per task.
        """
        played = play_tasks(
            tasks,
            env=self.world.env(self.world.tools),
            rollout=rollout or linear(max_turns=self.max_turns),
            engine=self.engine,
            format=self.format,
            sampling=Sampling(max_tokens=self.max_tokens, temperature=self.temperature),
            seed=seed,
        )
        return [(one, float(self.world.correct(Group(one.task, (one,))).outcome[0])) for one in played]


def started_policy(
    taught: World, world: World, *, max_turns: int = 4, max_tokens: int = 64, temperature: float = 0.5
) -> FrozenPolicy:
    """Load the cold start of a world as the frozen policy of another world.

    Args:
        taught: world of the cold start.
        world: world of the study.
        max_turns: of a rollout at most.
        max_tokens: of a turn at most.
        temperature: of the draws.

    Example:
        started_policy(coded_hops(fresh=True), coded_hops(shown=0)) reads codes that were not in the cold start

    Idea: the study's world has no training on its own tasks.
    """
    policy = start_policy(taught)
    return FrozenPolicy(world, local.LocalEngine(policy.model), policy.format, max_turns, max_tokens, temperature)
