"""CAR (arXiv:2601.07264), its finding: an unreliable tool raises a policy's confidence in incorrect answers."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.calibrated.false_replies import false_replies

__all__ = ["confidence_dichotomy"]


def confidence_dichotomy(base: Method) -> Method:
    """Reward accuracy alone, in a world with an unreliable tool.

    Channel "misled" has the share of rollouts with a false reply.

    Example:
        a correct answer after a false reply  ->  reward 1, misled 1

    Paper: arXiv:2601.07264 (the confidence dichotomy), its comparison of tools.
    """
    reward = rewards.weighted({"answer": (1.0, base.world.correct), "misled": (0.0, false_replies())})
    return replace(base, reward=reward)
