"""Long-term memory of plans that grows by solved tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.papers.toolchain_star.compare_searches import Searched
from handaxe.papers.toolchain_star.plan_steps import Plan, plan_steps

__all__ = ["grown_memory"]

Solve = Callable[[Sequence[Plan], Sequence[Task]], Sequence[Searched]]
"""(memory, tasks) -> a search a task."""


def grown_memory(seed: Sequence[Plan], tasks: Sequence[Task], solve: Solve, *, rounds: int = 4) -> list[Plan]:
    """Solve tasks in rounds, and extend the memory by the plans of solved tasks after each round.

        M_0 = seed,   M_r = M_r-1 + [plan of task t in round r : the answer of the search with M_r-1 is correct]

    Args:
        seed: plans of demonstrations.
        tasks: with answers, N of them; round r has the tasks [r N / rounds, (r + 1) N / rounds).
        solve: searches with a memory.
        rounds: 1 to N.

    Returns:
        The seed, and a plan for each solved task, equal ones included: costs count how often plans hold a step.

    Raises:
        InputError: `rounds` is not 1 to N.

    Example:
        seed [p], two tasks in two rounds, of which the second is solved by the plan q  ->  [p, q]

    Paper: arXiv:2310.13227 (ToolChain*), the long-term memory, extended by solved tasks.
    Unconfirmed: that equal plans are kept, and that a task counts as solved by its answer.
    Differs: tasks of the training split have answers; the memory grows between rounds instead of after every task.
    """
    if not 1 <= rounds <= len(tasks):
        raise InputError(f"rounds is {rounds}, and there are {len(tasks)} tasks: give 1 to {len(tasks)}")
    memory = list(seed)
    for r in range(rounds):
        own = tasks[r * len(tasks) // rounds : (r + 1) * len(tasks) // rounds]
        found = solve(memory, own)
        memory += [plan_steps(one.chosen) for one in found if one.correct and one.chosen is not None]
    return memory
