"""Demonstrations with tool calls only on tasks that a probe without tools failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, Source, StageContext
from handaxe.core.records import Message, RatedGroup, Task, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.linear import linear
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.probe import get_task_pool
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts

__all__ = ["Shown", "by_need"]

Shown = Literal["need", "always", "never"]
"""When demonstrations call: by need, always, or never."""


def by_need(
    *,
    expert: Expert,
    label: str = "probe",
    above: float = 0.5,
    show: Shown = "need",
    answer: Callable[[Task], str] = lambda task: str(task.answer),
    max_turns: int = 8,
    plays: Callable[[int], Rollout] | None = None,
) -> Source:
    """Make a source of demonstrations, one for each task of a `task_pool` that a probe has labelled.

        known(task) = metadata[label] > above           metadata[label]: accuracy without tools
        demonstration = answer(task) at once            for a known task
                        the expert's conversation, with a call wherever a call helps ("sure" False)        otherwise

    Conversations are played in the stage's environment with real tool replies. Replies are context; the policy learns
    the calls and answers of the speaker, each after the replies before it.

    Args:
        expert: of the world.
        label: key that `probe` wrote. A task without a value, since no rollout was scored, is left out.
        above: threshold of the accuracy, 0 to 1; the paper's labels come from a language model.
        show: "always" and "never" treat every task as unknown, or as known, for comparison. Labels then only select the
            tasks.
        answer: task -> text of a known answer.
        max_turns: of a conversation.
        plays: turn limit -> rollout strategy of a conversation, such as `World.make_rollout`; None: `linear`.

    Returns:
        A source for the stage `teach`; equal pools and seeds give equal conversations.

    Raises:
        InputError: the stage's tasks are no `task_pool`; an unknown `show`; no task has a label; a conversation does
            not complete: it exceeds the engine's context or the turn limit, or tools failed.

    Example:
        "3+4=?" labelled 1.0   ->  "7"
        "12*34=?" labelled 0.0 ->  calculator("12*34"), and after its reply "408"

    Paper: arXiv:2502.11435 (SMART), its training data.
    Differs: rollouts without tools decide the need for a tool, instead of a language model; a question is one step;
    there are no justifications and no decision tokens.
    Unconfirmed: the threshold; the paper is known only from its page and its released description.
    """
    rollout = linear(max_turns=max_turns) if plays is None else plays(max_turns)
    if show not in ("need", "always", "never"):
        raise InputError(f"show is need, always or never, not {show!r}")

    def source(site: StageContext) -> list[RatedGroup]:
        tasks = [one for one in get_task_pool(site, "by_need").tasks if one.metadata.get(label) is not None]
        if not tasks:
            raise InputError(f"no task has the label {label!r}: let a `probe` stage come before, with that label")
        return [as_rated([played(site, one)]) for one in tasks]

    def speaker(task: Task, facts: Facts) -> Message:
        known = show == "never" or (show == "need" and task.metadata[label] > above)
        return Message("assistant", answer(task)) if known else expert(task, {**facts, "sure": False})

    def played(site: StageContext, task: Task) -> Trajectory:
        seed = derive_seed(site.seed, "by need", task.id)
        most = site.engine.max_length
        one = demonstrate(
            site.env, task, speaker, format=site.format, id=task.id, seed=seed, context=most, rollout=rollout
        )
        if one.ending.kind != "completed":
            raise InputError(f"the demonstration of task {task.id!r} ended as {one.ending.kind}: {one.ending.reason}")
        return one

    return source
