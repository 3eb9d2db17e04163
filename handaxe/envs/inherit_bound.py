"""Limits of wrapped environment factories, passed on to the wrapper."""

from handaxe.core.protocols import Bounded, EnvFactory

__all__ = ["inherit_bound"]


def inherit_bound(factory: EnvFactory, *inner: EnvFactory) -> EnvFactory:
    """Limit a factory to the smallest bound of the factories inside (`core.protocols.Bounded`).

    Args:
        factory: the wrapper; its attribute `most` is set.
        inner: factories that the wrapper calls.

    Returns:
        The same factory; unchanged if no inner factory is bounded.

    Example:
        with inner factories of most 4, 2 and none, the wrapper may have 2 open environments

    Idea: a wrapped environment is open as long as its wrapper, so the bound is the same.
    """
    bounded = [env for env in inner if isinstance(env, Bounded)]
    if bounded:
        factory.most = min(env.most for env in bounded)  # type: ignore[attr-defined]
    return factory
