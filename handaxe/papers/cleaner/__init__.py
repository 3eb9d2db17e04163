"""CLEANER (arXiv:2601.15141): replace failed turns by their successful correction before training."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.cleaner.repairing import repairing

__all__ = ["cleaner"]


def cleaner(base: Method, *, retries: int = 3, similarity: float = 0.5) -> Method:
    """Purify training rollouts by similarity-aware rollback; evaluations are not repaired.

    Channel "repaired" has the share of rollouts with a replaced turn.

    Args:
        retries: K, turns within which a failed call may be corrected. 3 is unconfirmed.
        similarity: gamma, minimum similarity of failed and corrected code that keeps the thought. 0.5 is unconfirmed.
    """
    rollout = repairing(retries=retries, similarity=similarity, max_turns=base.settings.max_turns)
    repaired = rewards.outcome(lambda one: bool(one.notes.get("repaired")))
    reward = rewards.weighted({"answer": (1.0, base.reward), "repaired": (0.0, repaired)})
    return replace(base, rollout=rollout, reward=reward, annotate=(*base.annotate, "old_logp"))
