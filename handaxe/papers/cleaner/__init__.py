"""CLEANER: a call that failed and was put right is replaced by what put it right, before anything trains."""

from handaxe.methods.method import Method, replace
from handaxe.papers.cleaner.repairing import repairing

__all__ = ["cleaner"]


def cleaner(base: Method, *, retries: int = 3, similar: float = 0.5, turns: int = 3) -> Method:
    """Train on purified attempts; evaluations are played without repairs.

    Args:
        retries: K, turns that may put a failure right; unconfirmed.
        similar: gamma, from which on the thought before the failed call is kept; unconfirmed.
        turns: of an attempt in training.
    """
    rollout = repairing(retries=retries, similar=similar, max_turns=turns)
    return replace(base, rollout=rollout, annotate=(*base.annotate, "old_logp"))
