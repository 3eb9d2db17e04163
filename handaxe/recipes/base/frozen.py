"""The policy as it is: it plays, is scored, observed and recorded, and nothing trains."""

from handaxe.methods.method import Method, Recipe, replace

__all__ = ["frozen"]

RECIPE = Recipe()


def frozen(base: Method) -> Method:
    """Play without training: no epoch goes over what was sampled."""
    return replace(base, epochs=0)
