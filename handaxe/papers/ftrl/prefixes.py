"""Stage that replaces tasks by visited states, so that each step becomes a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Message, Task, ToolReply, Trajectory
from handaxe.curricula.in_order import in_order
from handaxe.rollouts.linear import linear
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.probe import get_task_pool
from handaxe.training.stages.sources import play_at

__all__ = ["list_states", "prefixes"]

NOTHING: Mapping[str, Any] = {}
State = Callable[[Task, Sequence[ToolReply]], Mapping[str, Any]]
"""(the original task, all replies before this state) -> metadata that differ in this state."""


def prefixes(
    *, state: State, most: int = 512, max_turns: int = 20, groups: int = 64, arguments: Mapping[str, Any] = NOTHING
) -> Stage:
    """Make a stage that plays each task of a `task_pool` once and replaces tasks by visited states.

        task    user | call | reply | call | reply | answer
        becomes user                                            the task itself, "opened" 0
                user | call | reply                             "opened" 1: it begins with earlier turns and replies
                user | call | reply | call | reply              "opened" 2

    A later round plays the tasks with "opened" 0 again, with the present policy, and replaces the states. The opening
    messages of a task are context: none of their tokens trains.

    Args:
        state: metadata that differ in a state, such as the unsolved sub-questions.
        most: number of played tasks, the first of the pool; the others are dropped.
        max_turns: of a rollout; 20 in the paper.
        groups: tasks played side by side.
        arguments: further arguments of `train`, replacing the context's roles.

    Returns:
        A stage with one row of metrics: number of tasks before and after, and mean number of turns that they open with.

    Raises:
        InputError: the context's tasks are no `task_pool`; `most` is below 1.

    Example:
        one task whose rollout has two calls and an answer  ->  three tasks, "opened" 0, 1 and 2

    Paper: arXiv:2508.08791 (FTRL), as in its released code (data_sample.py).
    Differs: nothing.
    """
    if most < 1:
        raise InputError(f"most is {most}; give 1 task or more")
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(site, "prefixes")
        originals = [one for one in pool.tasks if not one.metadata.get("opened")][:most]
        chosen = {"rollout": linear(max_turns=max_turns), **arguments, "group_size": 1}
        chosen |= {"steps": -(-len(originals) // groups), "groups": groups, "tasks": in_order(originals, shuffle=False)}
        made: dict[str, Task] = {}
        for rated in play_at(site, chosen):  # the last step may wrap around to the first tasks
            if f"{rated.group.task.id}@0" not in made:
                made |= {one.id: one for one in list_states(rated.group[0], state)}
        if not made:
            raise InputError("prefixes has no state: no rollout of a task was scored")
        pool.tasks = list(made.values())
        opened = sum(one.metadata["opened"] for one in pool.tasks) / len(pool.tasks)
        return [{"step": 0.0, "tasks/before": float(len(originals)), "tasks": float(len(pool.tasks)), "opened": opened}]

    return stage


def list_states(played: Trajectory, state: State) -> list[Task]:
    """List the states of a rollout: the task, and a state after every turn with tool replies, except the last turn.

    Ids of calls get a prefix, since the turns of a rollout that opens with them count from 0 again.
    """
    task = played.task
    original_id = task.id.removesuffix("@0")
    made = [replace(task, id=f"{original_id}@0", metadata={**task.metadata, "opened": 0})]
    replies: list[ToolReply] = []
    place, opening = len(task.messages), list(task.messages)
    for number, turn in enumerate(played.turns[:-1], 1):
        stop = next((k for k in range(place + 1, len(played.messages)) if _speaks(played.messages[k])), None)
        if stop is None or not turn.replies:
            break
        opening += [_with_prefix(one) for one in played.messages[place:stop]]
        replies += turn.replies
        changed = {**task.metadata, **state(task, replies), "opened": number}
        made.append(replace(task, id=f"{original_id}@{number}", messages=tuple(opening), metadata=changed))
        place = stop
    return made


def _speaks(message: Message) -> bool:
    return message.role == "assistant"


def _with_prefix(message: Message) -> Message:
    calls = tuple(replace(call, id=f"before-{call.id}") for call in message.calls)
    return replace(message, calls=calls, call_id=f"before-{message.call_id}" if message.call_id else "")
