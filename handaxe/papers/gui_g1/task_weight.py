"""Scales advantages by a weight of the task."""

from collections.abc import Callable
from dataclasses import replace

from handaxe.core.errors import TaskError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Task
from handaxe.ops.ragged import scale_tokens

__all__ = ["task_weight"]


def task_weight(*, weight: Callable[[Task], float]) -> AdvantageTransform:
    """Scale every advantage of a group by the weight of its task.

        A'_i,t = w(q) A_i,t                w(q) >= 0: weight of the task q of the group

    Apply after a credit, with `credit.transformed`. After a credit that centers rewards without scaling them
    (`group_norm(std=None)`), w alone sets how much a task counts. Value targets (`returns`), channels and masks are
    unchanged.

    Args:
        weight: function of a task, such as `worlds.screen.widgets.difficulty`, which rises from 0.5 for the largest
            target to 1.5 for the smallest, as in the paper.

    Returns:
        An advantage transform: [RatedGroup] -> [RatedGroup]. It reads neither rewards nor siblings.

    Raises:
        TaskError: a weight below 0 or not finite.

    Example:
        weight 1.5; advantages 0.5, -0.5  ->  0.75, -0.75

    Paper: arXiv:2505.15810 (GUI-G1), section 3.3: the objective of a query times its difficulty.
    Differs: the advantage is weighted instead of the objective. The two are equal for every loss that is linear in the
        advantage; penalties of the loss, of which the paper has none, stay unweighted.
    """

    def weighted(one: RatedGroup) -> RatedGroup:
        factor = float(weight(one.group.task))
        if not 0 <= factor < float("inf"):
            raise TaskError(f"task {one.group.task.id!r} has the weight {factor}; give a finite number of 0 or more")
        return replace(one, advantages=replace(one.advantages, tokens=scale_tokens(one.advantages.tokens, factor)))

    return lambda rated: [weighted(one) for one in rated]
