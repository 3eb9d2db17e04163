"""A world whose conversations begin with some of the criteria as hints, for teaching a policy to read them."""

from dataclasses import replace

from handaxe.rollouts.hinted import hinted
from handaxe.slots import Rollout
from handaxe.worlds.world import World

__all__ = ["with_hints"]


def with_hints(world: World, *, fraction: float = 0.5) -> World:
    """Hint every attempt that the world plays, those of its expert included.

    A small policy has never read a hint, and is only put out by one; demonstrations of this world are to teach it
    (`training.stages.teach_expert`). Evaluate it in this world to see whether it has learnt enough of them.

    Args:
        world: needs criteria.
        fraction: of them that are said, drawn anew for each attempt; see `rollouts.hinted`.

    Returns:
        The world, with another rollout.

    Raises:
        InputError: the world has no criteria, or a fraction out of [0, 1].

    Example:
        with_hints(hops()): "Hints: It calls search(query='5526 ally')." stands before "4071 boss ally?"
    """
    criteria = world.need("criteria")
    hinted(rollout=world.plays(1), criteria=criteria, fraction=fraction)  # says at once what is wrong

    def plays(max_turns: int) -> Rollout:
        return hinted(rollout=world.plays(max_turns), criteria=criteria, fraction=fraction)

    return replace(world, rollout=plays)
