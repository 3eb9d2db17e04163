"""The policy as it is: it plays, is scored, observed and recorded, and nothing trains."""

from handaxe.methods.method import Method, replace

__all__ = ["no_training"]


def no_training(base: Method) -> Method:
    """Play without training: no epoch goes over what was sampled."""
    return replace(base, epochs=0)
