"""No training: the policy plays, is scored, observed and recorded with constant weights."""

from handaxe.methods.method import Method, replace

__all__ = ["no_training"]


def no_training(base: Method) -> Method:
    """Sample and score without an update."""
    return replace(base, epochs=0)
