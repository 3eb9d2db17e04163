"""Rollout that samples a metadata entry of the task per attempt, such as the simulated user."""

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Bounded, Env, Rollout, RolloutPlan
from handaxe.core.records import Task
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed

__all__ = ["sample_metadata"]


def sample_metadata(rollout: Rollout, *, key: str, among: Sequence[str]) -> Rollout:
    """Sample one metadata entry for the environment of each rollout.

        metadata[key] = among[derive_seed(seed of the attempt, "metadata", key) mod len(among)]

    Siblings get different values, so that their group compares policies over all of them. The recorded task, which
    rewards and the policy read, is unchanged.

    Args:
        rollout: strategy to play.
        key: metadata key that the environment reads.
        among: values, at least one, sampled uniformly.

    Returns:
        A rollout strategy that branches if `rollout` does.

    Raises:
        InputError: no value; when played, an environment with a limit on open instances.

    Example:
        sample_metadata(linear(), key="persona", among=("plain", "easy")): half of the rollouts meet each persona.

    Paper: arXiv:2508.18669 (MUA-RL), a simulated user that varies between rollouts.
    Differs: the paper's user is a language model and varies by its sampling; here a rule plays it by default.
    """
    if not among:
        raise InputError(f"there are no values of {key!r} to sample: give at least one")

    def drawn(attempt: Attempt) -> RolloutPlan:
        if isinstance(attempt.env, Bounded):
            raise InputError(f"sampling {key!r} does not support environments with a limit on open instances")
        value = among[derive_seed(attempt.seed, "metadata", key) % len(among)]

        def env(task: Task) -> Env:
            return attempt.env(replace(task, metadata={**task.metadata, key: value}))

        return rollout(replace(attempt, env=env))

    if hasattr(rollout, "branches"):
        drawn.branches = rollout.branches  # type: ignore[attr-defined]
    return drawn
