"""Says of an environment factory that wraps others how many may be open."""

from handaxe.core.protocols import Bounded, EnvFactory

__all__ = ["bounded_as"]


def bounded_as(factory: EnvFactory, *inner: EnvFactory) -> EnvFactory:
    """Bound a factory as those are that it makes its environments with, by the least of them (`slots.Bounded`).

    Args:
        factory: what wraps them, a function of its own; its `most` is set.
        inner: what it calls, or what is bounded alike.

    Returns:
        The same factory, as it is where none of the others is bounded.

    Example:
        of inner factories with most 4, 2 and none, the factory may have 2 open

    Idea: a wrapped environment is open as long as what wraps it, so the bound is the same.
    """
    bounded = [one for one in inner if isinstance(one, Bounded)]
    if bounded:
        factory.most = min(one.most for one in bounded)  # type: ignore[attr-defined]
    return factory
