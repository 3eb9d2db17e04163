"""Keeps a verifiable reward at a share of the tasks."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["verifiable_share"]

PARTS = 1_000_000


def verifiable_share(*, reward: Reward, share: float) -> Reward:
    """Give a reward to the rollouts of some tasks, and 0 to those of all others.

        R_i = reward_i  if u(task) < share, else 0          u: hash of the task's id, uniform in [0, 1)

    A group without it has equal rewards, so that a credit against the siblings is 0.

    Args:
        reward: verifiable, without per-turn values.
        share: of the tasks, 0 to 1; a tenth in the paper. The same tasks in every run.

    Returns:
        A reward with outcome [G] and the channel "verifiable", the reward at all tasks.

    Raises:
        InputError: share out of range, per-turn values.

    Example:
        rewards 1 and 0 of a task with u = 0.07, share 0.1  ->  1 and 0;  of a task with u = 0.5  ->  0 and 0

    Paper: arXiv:2504.15275 (PURE), process rewards with a tenth of verifiable rewards.
    Differs: the paper has no reward at the other tasks, instead of 0.
    """
    if not 0 <= share <= 1:
        raise InputError(f"share is {share}; give 0 to 1")

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        known = derive_seed("verifiable", group.task.id) % PARTS < share * PARTS
        return Scores(outcome_only(parts["verifiable"], "verifiable").outcome * known)

    return Combined({"verifiable": reward}, merge)
