"""Worlds whose conversations begin with hints or with tips, for teaching a policy to read them."""

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout
from handaxe.core.records import Criterion, Task
from handaxe.curricula.tip_pool import tip_pool, told_calls
from handaxe.ops.seeds import generator
from handaxe.rollouts.hinted import hinted
from handaxe.worlds.world import World

__all__ = ["with_hints", "with_tips"]


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


def with_tips(world: World, *, share: float = 0.5, known: int = 256) -> World:
    """Tell a share of the attempts which calls another task took, the one that asks most alike.

    A policy that was taught by `with_hints` does what a hint says, and is misled by what another task took. The expert
    of this world does what its own task takes.

    Args:
        world: needs reference calls.
        share: of the tasks, by a draw of each, 0 to 1.
        known: training tasks whose calls are told of, >= 1.

    Returns:
        The world, with another rollout.

    Raises:
        InputError: the world has no reference, or a number out of range.

    Example:
        with_tips(hops()): "Hints: In '4071 boss heir?': It calls search(query='4071 boss'), search(query='5526 heir')."
        stands before "4071 boss ally?"
    """
    reference = world.need("reference")
    if not 0 <= share <= 1 or known < 1:
        raise InputError(f"with_tips takes a share from 0 to 1 and 1 or more known tasks, not {share} and {known}")
    pool = tip_pool(top=2, most=known)
    for task in world.tasks("train", known, 0):
        pool.keep(task, told_calls(task, reference(task)))

    def tips(task: Task) -> list[Criterion]:
        if generator("with_tips", task.id).random() >= share:
            return []
        own = told_calls(task, reference(task))
        return [Criterion("tip", one.text) for one in pool.recall(task) if one.text != own][:1]

    def plays(max_turns: int) -> Rollout:
        return hinted(rollout=world.plays(max_turns), criteria=tips)

    return replace(world, rollout=plays)
