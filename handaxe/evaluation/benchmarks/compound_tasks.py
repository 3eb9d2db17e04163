"""Compounding tasks: independent chains of subtasks of the world `toolbox` in one task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from handaxe.core.records import Message, Task
from handaxe.worlds.toolbox.questions import build_task
from handaxe.worlds.world import Split, World

__all__ = ["compound_task", "compound_tasks"]

SURPLUS = 2
"""Chains drawn for each chain of a task, since chains of one task need different functions."""
ASKED = (
    "<1> stands for the result of step 1 of the same chain. The calls of one turn run at the same time: put "
    "independent calls into one turn. Reply with the results of the last steps of all chains, separated by commas."
)
SEARCHED = "Find a tool for each step with find_tools, and call it with call_tool. "


def compound_tasks(
    world: World, *, chains: int, brief: bool, request: str = SEARCHED
) -> Callable[[Split, int, int], list[Task]]:
    """Make the field `tasks` of a world: each task has several chains of the world `toolbox`.

    A subtask is a call of a tool. Subtasks of different chains are independent, and need different functions. In a
    chain, every later subtask has the result of the one before as an argument.

    Args:
        world: `toolbox` with chains.
        chains: of a task, 1 or more.
        brief: the world is in the brief form.
        request: what to do for each step, in the prose form.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        drawn = world.tasks(split, SURPLUS * chains * count, seed)
        return [compound_task(some, brief=brief, request=request) for some in _groups(drawn, chains)[:count]]

    return tasks


def compound_task(chains: Sequence[Task], *, brief: bool, request: str = SEARCHED) -> Task:
    """Make one task of chains.

    Args:
        chains: tasks of the world `toolbox`, kind chain.
        brief: the tasks are in the brief form.
        request: as for `compound_tasks`.

    Returns:
        A task with the steps of all chains, in order; metadata "chains" has the number of steps of each. The answer is
        the results of the last steps.

    Example:
        the brief chains "5526 25, 1390 * 7" and "8112 3" are "5526 25, 1390 * 7; 8112 3", metadata {"chains": [2, 1]}
    """
    texts = [one.messages[-1].content for one in chains]
    if brief:
        text = "; ".join(texts)
    else:
        bodies = [one.rpartition("\n")[0] for one in texts]  # the last line asks for the result of one chain
        text = "\n\n".join([*(f"Chain {number}\n{body}" for number, body in enumerate(bodies, 1)), request + ASKED])
    steps = [step for one in chains for step in one.metadata["steps"]]
    last = [one.metadata["steps"][-1] for one in chains]
    made = build_task(f"tps-{chains[0].id}", text, steps, last)
    lengths = [len(one.metadata["steps"]) for one in chains]
    return replace(made, messages=(Message("user", text),), metadata={**made.metadata, "chains": lengths})


def _groups(drawn: Sequence[Task], size: int) -> list[list[Task]]:
    """Full groups of chains with different functions, in the order of completion.

    A chain joins the first open group without its functions, or opens a group.
    """
    opened: list[list[Task]] = []
    full: list[list[Task]] = []
    for chain in drawn:
        group = next((one for one in opened if not _functions([chain]) & _functions(one)), None)
        if group is None:
            group = []
            opened.append(group)
        group.append(chain)
        if len(group) == size:
            opened.remove(group)
            full.append(group)
    return full


def _functions(chains: Sequence[Task]) -> set[str]:
    return {step["function"] for one in chains for step in one.metadata["steps"]}
