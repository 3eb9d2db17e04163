"""A rollout whose environment finds another entry of the task's metadata in each attempt, such as another user."""

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Bounded, Env, Rollout, RolloutPlan
from handaxe.core.records import Task
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed

__all__ = ["sample_metadata"]


def sample_metadata(rollout: Rollout, *, key: str, among: Sequence[str]) -> Rollout:
    """Draw an entry of the metadata that the environment of an attempt is made for.

        metadata[key] = among[derive_seed(seed of the attempt, "metadata", key) mod len(among)]

    Siblings meet different draws, so that their group compares what works with all of them. The task in the record, and
    what rewards and the policy see of it, stays as it is.

    Args:
        rollout: how attempts are played.
        key: of the metadata, which the environment reads.
        among: drawn with equal chances, one or more.

    Returns:
        A rollout strategy that branches where `rollout` does.

    Raises:
        InputError: nothing to draw among; when played, environments of which only so many may be open at a time.

    Example:
        sample_metadata(linear(), key="persona", among=("plain", "easy")): half of the attempts talk to each.

    Paper: arXiv:2508.18669 (MUA-RL), the simulated user in the rollout, who is another one in every attempt.
    Differs: the paper's user is a language model and varies by its sampling; here it is by rule unless told otherwise.
    """
    if not among:
        raise InputError(f"there is nothing to draw {key!r} among: give one value or more")

    def drawn(attempt: Attempt) -> RolloutPlan:
        if isinstance(attempt.env, Bounded):
            raise InputError(
                f"only so many environments may be open at a time, which drawing {key!r} would lose count of"
            )
        value = among[derive_seed(attempt.seed, "metadata", key) % len(among)]

        def env(task: Task) -> Env:
            return attempt.env(replace(task, metadata={**task.metadata, key: value}))

        return rollout(replace(attempt, env=env))

    if hasattr(rollout, "branches"):
        drawn.branches = rollout.branches  # type: ignore[attr-defined]
    return drawn
