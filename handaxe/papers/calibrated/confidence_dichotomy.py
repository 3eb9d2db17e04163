"""CAR (arXiv:2601.07264), its finding: an unreliable tool raises a policy's confidence in incorrect answers."""

from handaxe.methods.method import Method, replace

__all__ = ["confidence_dichotomy"]


def confidence_dichotomy(base: Method) -> Method:
    """Reward accuracy alone, in a world with an unreliable tool."""
    return replace(base, reward=base.world.correct)
