"""Wrapper of worlds for an adviser."""

from dataclasses import replace

from handaxe.core.protocols import Rollout
from handaxe.rollouts.advised import Adviser, When, advised, after_failure
from handaxe.worlds.world import World

__all__ = ["add_adviser"]


def add_adviser(world: World, adviser: Adviser, *, when: When = after_failure) -> World:
    """Wrap a world: an adviser speaks to the policy, in training, demonstrations and evaluations.

    A method with a rollout strategy of its own trains without the adviser, and is evaluated with it.

    Args:
        world: any.
        adviser, when: see `rollouts.advised`.

    Returns:
        The world with another rollout strategy, and the role of the adviser among its roles if a model can advise.

    Example:
        add_adviser(arithmetic(), Adviser(lambda task, said, seed: "Give both operands."))
    """

    def make_rollout(max_turns: int) -> Rollout:
        return advised(world.make_rollout(max_turns), adviser, when=when)

    return replace(world, rollout=make_rollout, roles=(*world.roles, *((adviser.role,) if adviser.ask else ())))
