"""CAR's finding: trained on accuracy alone, a policy is surer of what is wrong the less its tool can be relied upon."""

from handaxe.methods.method import Method, replace

__all__ = ["confidence_dichotomy"]


def confidence_dichotomy(base: Method) -> Method:
    """Train on being right, whatever is said of how sure an answer is, in a world where a tool may be wrong."""
    return replace(base, reward=base.world.correct)
