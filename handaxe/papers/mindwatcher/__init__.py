"""MindWatcher: every turn of an attempt trains alike, and calls that go wrong cost something."""

from handaxe.losses.reductions.turn_mean import turn_mean
from handaxe.methods.method import Method, replace
from handaxe.rewards.average import average
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["mindwatcher"]


def mindwatcher(base: Method, *, per_rollout: bool = True, formed: float = 0.2, failed: float = 0.5) -> Method:
    """Train on answer, format and calls that ran, averaged over turns and then over attempts.

    Args:
        per_rollout: whether attempts of many turns weigh no more than others.
        formed: weight of the format; unconfirmed.
        failed: weight of the mean over turns of -0.5 for calls that failed; unconfirmed.
    """
    calls = average(reply_status())
    reward = weighted({"answer": (1.0, base.reward), "format": (formed, well_formed()), "calls": (failed, calls)})
    return replace(base, reward=reward, reduction=turn_mean(per_rollout=per_rollout))
