"""The first minutes: teach a tiny policy to use a calculator, on real reasoning-gym tasks."""

from handaxe.methods.method import Method

__all__ = ["quickstart"]


def quickstart(base: Method) -> Method:
    """Train as Dr. GRPO does, for as many steps as fit into half a minute."""
    return base
