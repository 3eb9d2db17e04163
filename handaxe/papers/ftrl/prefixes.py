"""Turn tasks into the states that the policy comes to in them, so that each of its steps is a task of its own."""

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
from handaxe.training.stages.probe import tasks_of
from handaxe.training.stages.sources import play_at

__all__ = ["prefixes", "prefixes_of"]

NOTHING: Mapping[str, Any] = {}
State = Callable[[Task, Sequence[ToolReply]], Mapping[str, Any]]
"""(the task as it was, all replies before this state) -> what of its metadata is different in this state."""


def prefixes(
    *, state: State, most: int = 512, max_turns: int = 20, groups: int = 64, arguments: Mapping[str, Any] = NOTHING
) -> Stage:
    """Make a stage that plays each task of a `task_pool` once, and puts the states in its place that it led to.

        task    user | call | reply | call | reply | answer
        becomes user                                            the task itself, "opened" 0
                user | call | reply                             "opened" 1: it begins with somebody's words and replies
                user | call | reply | call | reply              "opened" 2

    A later round plays the tasks with "opened" 0 again, with the policy as it is then, and replaces the states. What
    a task opens with is context: none of its tokens trains.

    Args:
        state: what is different in a state, such as what is solved by then.
        most: tasks that are played, the first of the pool; the others are left out.
        max_turns: of an attempt; 20 in the paper.
        groups: tasks played side by side.
        arguments: further ones of `train`, also in place of the site's roles.

    Returns:
        A stage: one row of metrics, how many tasks there were and are, and how many turns they open with on average.

    Raises:
        InputError: the site's tasks are no `task_pool`; `most` is below 1.

    Paper: arXiv:2508.08791 (FTRL), as its released code has it (data_sample.py).
    Differs: nothing.
    """
    if most < 1:
        raise InputError(f"most is {most}; give 1 task or more")
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = tasks_of(site, "prefixes")
        whole = [one for one in pool.tasks if not one.metadata.get("opened")][:most]
        chosen = {"rollout": linear(max_turns=max_turns), **arguments, "group_size": 1}
        chosen |= {"steps": -(-len(whole) // groups), "groups": groups, "tasks": in_order(whole, shuffle=False)}
        made: dict[str, Task] = {}
        for rated in play_at(site, chosen):  # the last step may begin anew with the first tasks
            if f"{rated.group.task.id}@0" not in made:
                made |= {one.id: one for one in prefixes_of(rated.group[0], state)}
        if not made:
            raise InputError("prefixes has no state to go on with: no attempt at a task was scored")
        pool.tasks = list(made.values())
        opened = sum(one.metadata["opened"] for one in pool.tasks) / len(pool.tasks)
        return [{"step": 0.0, "tasks/before": float(len(whole)), "tasks": float(len(pool.tasks)), "opened": opened}]

    return stage


def prefixes_of(played: Trajectory, state: State) -> list[Task]:
    """The states of one attempt: its task, and one after every turn that tools replied to and another turn followed.

    Ids of calls are marked, since the turns of an attempt that opens with them count from 0 again.
    """
    task = played.task
    begun = task.id.removesuffix("@0")
    made = [replace(task, id=f"{begun}@0", metadata={**task.metadata, "opened": 0})]
    replies: list[ToolReply] = []
    place, opening = len(task.messages), list(task.messages)
    for number, turn in enumerate(played.turns[:-1], 1):
        stop = next((k for k in range(place + 1, len(played.messages)) if _speaks(played.messages[k])), None)
        if stop is None or not turn.replies:
            break
        opening += [_marked(one) for one in played.messages[place:stop]]
        replies += turn.replies
        changed = {**task.metadata, **state(task, replies), "opened": number}
        made.append(replace(task, id=f"{begun}@{number}", messages=tuple(opening), metadata=changed))
        place = stop
    return made


def _speaks(message: Message) -> bool:
    return message.role == "assistant"


def _marked(message: Message) -> Message:
    calls = tuple(replace(call, id=f"before-{call.id}") for call in message.calls)
    return replace(message, calls=calls, call_id=f"before-{message.call_id}" if message.call_id else "")
