"""Scales advantages by a weight of the task."""

from collections.abc import Callable
from dataclasses import replace

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Shaper
from handaxe.core.records import Advantages, Group, Task
from handaxe.ops.ragged import scale_tokens

__all__ = ["task_weight"]


def task_weight(*, weight: Callable[[Task], float]) -> Shaper:
    """Scale every advantage of a group by the weight of its task.

        A'_i,t = w(q) A_i,t                w(q) >= 0: weight of the task q of the group

    Apply after a credit, with `credit.transformed`. After a credit that centers rewards without scaling them
    (`group_norm(std=None)`), w alone sets how much a task counts. Value targets (`returns`), channels and masks are
    unchanged.

    Args:
        weight: function of a task, such as `worlds.screen.layout.difficulty`, which rises from 0.5 for the largest
            target to 1.5 for the smallest, as in the paper.

    Returns:
        A shaper: (Group, Advantages) -> Advantages. It reads neither rewards nor siblings.

    Raises:
        TaskError: a weight below 0 or not finite.

    Example:
        weight 1.5; advantages 0.5, -0.5  ->  0.75, -0.75

    Paper: arXiv:2505.15810 (GUI-G1), section 3.3: the objective of a query times its difficulty.
    Differs: the advantage is weighted instead of the objective. The two are equal for every loss that is linear in the
        advantage; penalties of the loss, of which the paper has none, stay unweighted.
    """

    def shaper(group: Group, advantages: Advantages) -> Advantages:
        factor = float(weight(group.task))
        if not 0 <= factor < float("inf"):
            raise TaskError(f"task {group.task.id!r} has the weight {factor}; give a finite number of 0 or more")
        return replace(advantages, tokens=scale_tokens(advantages.tokens, factor))

    return shaper
