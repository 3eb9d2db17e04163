"""Scored rollouts of a policy at tasks of a world, as data of reward models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe import rollouts
from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import Engine, Labelled, Rollout
from handaxe.core.records import Sampling
from handaxe.rewards.parts.scoring import score_group
from handaxe.rollouts.search.play_search import SearchPlayer
from handaxe.worlds.world import Split, World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["HELD_OUT", "PolicyRollouts", "policy_rollouts"]

SAMPLING = Sampling(temperature=1.0, max_tokens=48)
HELD_OUT = 1_000_000
"""Added to the seed of held-out rollouts."""


class PolicyRollouts:
    """See `policy_rollouts`."""

    def __init__(self, world: World, policy: loading.Policy, turns: int, sampling: Sampling):
        self.world = world
        self.engine: Engine = local.LocalEngine(policy.model)
        self.format = policy.format
        self._rollout = rollouts.linear(max_turns=turns)
        self._play = SearchPlayer(world.env(world.tools), self.engine, policy.format, sampling)

    def __call__(
        self, split: Split, *, tasks: int, samples: int, seed: int, rollout: Rollout | None = None
    ) -> list[Labelled]:
        """Play each task several times, and score the rollouts by the rule of the world; `rollout` is another strategy,
        whose trajectories of a task are one group."""
        given = [(seed, task) for task in self.world.tasks(split, tasks, seed)]
        found = self._play(rollout or self._rollout, given, samples=samples)
        return [score_group(self.world.correct, one.group) for one in found]


def policy_rollouts(
    world: World, *, policy: loading.Policy | None = None, turns: int = 4, sampling: Sampling = SAMPLING
) -> PolicyRollouts:
    """Make a source of scored groups that one policy plays, for studies of reward models.

    Args:
        world: of tasks, tools and the rule of correctness.
        policy: a loaded policy; None is the packaged policy from which the world's cold start is trained.
        turns: of a rollout at most.
        sampling: of a turn.

    Returns:
        (split, tasks=, samples=, seed=) -> one (group, scores) a task. `engine` is the policy, from which
        `judges.reward_model` begins; `format` its chat format.

    Example:
        policy_rollouts(arithmetic())("train", tasks=48, samples=8, seed=0): 48 groups of 8 rollouts

    Idea: reward models are fitted and tested on rollouts of the policy that they will reward.
    """
    return PolicyRollouts(world, policy or loading.load(world.start_model), turns, sampling)
