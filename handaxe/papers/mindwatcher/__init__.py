"""MindWatcher (arXiv:2512.23412): weight every turn of a rollout equally, and penalize failed calls."""

from handaxe import losses, rewards
from handaxe.methods.method import Method, replace

__all__ = ["mindwatcher"]


def mindwatcher(
    base: Method, *, per_rollout: bool = True, format_weight: float = 0.2, failure_weight: float = 0.5
) -> Method:
    """Train on answer, format and executed calls, with a loss averaged over turns, then over rollouts.

    Args:
        per_rollout: average within each rollout first; False averages over all turns of the batch.
        format_weight: weight of the format. Unconfirmed.
        failure_weight: weight of the mean over turns of -0.5 for failed calls. Unconfirmed.
    """
    calls = rewards.turns_to_outcome(rewards.reply_status(), reduce="mean")
    parts = {"answer": (1.0, base.reward), "format": (format_weight, rewards.well_formed())}
    reward = rewards.weighted({**parts, "calls": (failure_weight, calls)})
    return replace(base, reward=reward, reduction=losses.reductions.turn_mean(per_rollout=per_rollout))
