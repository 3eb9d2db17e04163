"""Wrappers of worlds for conversations with hints or tips, for teaching a policy to read hints."""

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout
from handaxe.core.records import Criterion, Task
from handaxe.curricula.tip_pool import call_tip, tip_pool
from handaxe.ops.seeds import generator
from handaxe.rollouts.hinted import hinted
from handaxe.worlds.world import World

__all__ = ["add_hints", "add_tips"]


def add_hints(world: World, *, fraction: float = 0.5) -> World:
    """Wrap a world: add hints to every rollout, demonstrations included.

    Hints confuse a small policy without demonstrations of them; `training.stages.teach_expert` on this world teaches
    hints. Evaluations in this world measure the result.

    Args:
        world: needs criteria.
        fraction: share of the criteria in the hints, drawn per rollout; see `rollouts.hinted`.

    Returns:
        The world with another rollout strategy.

    Raises:
        InputError: the world has no criteria, or fraction is outside [0, 1].

    Example:
        add_hints(hops()): "Hints: It calls search(query='5526 ally')." precedes "4071 boss ally?"
    """
    criteria = world.need("criteria")
    hinted(rollout=world.make_rollout(1), criteria=criteria, fraction=fraction)  # raises early

    def make_rollout(max_turns: int) -> Rollout:
        return hinted(rollout=world.make_rollout(max_turns), criteria=criteria, fraction=fraction)

    return replace(world, rollout=make_rollout)


def add_tips(world: World, *, share: float = 0.5, known: int = 256) -> World:
    """Wrap a world: add the reference calls of the most similar other task to a share of the rollouts.

    A policy that follows the hints of `add_hints` is misled by calls of other tasks. The expert of this world makes
    the calls of its own task.

    Args:
        world: needs reference calls.
        share: share of the tasks with a tip, 0 to 1, drawn per task.
        known: number of training tasks whose calls are used as tips, >= 1.

    Returns:
        The world with another rollout strategy.

    Raises:
        InputError: the world has no reference, or an argument is out of range.

    Example:
        add_tips(hops()): "Hints: In '4071 boss heir?': It calls search(query='4071 boss'), search(query='5526 heir')."
        precedes "4071 boss ally?"
    """
    reference = world.need("reference")
    if not 0 <= share <= 1 or known < 1:
        raise InputError(f"add_tips takes a share from 0 to 1 and 1 or more known tasks, not {share} and {known}")
    pool = tip_pool(top=2, most=known)
    for task in world.tasks("train", known, 0):
        pool.keep(task, call_tip(task, reference(task)))

    def tips(task: Task) -> list[Criterion]:
        if generator("add_tips", task.id).random() >= share:
            return []
        own_calls = call_tip(task, reference(task))
        return [Criterion("tip", one.text) for one in pool.recall(task) if one.text != own_calls][:1]

    def make_rollout(max_turns: int) -> Rollout:
        return hinted(rollout=world.make_rollout(max_turns), criteria=tips)

    return replace(world, rollout=make_rollout)
