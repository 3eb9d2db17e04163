"""Demonstrations that call tools where a probe without them failed, and answer at once where it did not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, Source, StageContext
from handaxe.core.records import Message, Rated, Task, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.linear import linear
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.probe import tasks_of
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts

__all__ = ["Shown", "by_need"]

Shown = Literal["need", "always", "never"]
"""Where demonstrations call: where it is needed, everywhere, or nowhere."""


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

        known(task) = metadata[label] > above           metadata[label]: share of attempts without tools that were right
        shown(task) = answer(task), said at once        where the task is known
                      what the expert says, which calls wherever a call helps ("sure" False)        elsewhere

    Conversations are played in the site's environment, so that the tools really answer; what they say is context, and
    what is learnt is what the speaker says, each call and each answer after the replies before it.

    Args:
        expert: of the world.
        label: the key that `probe` wrote. A task that has none, since no attempt at it was scored, is left out.
        above: of the share, 0 to 1; the paper's labels come from a language model and not from a share.
        show: "always" and "never" take every task for unknown, or for known: what demonstrations by need are compared
            with. Labels are then needed for nothing but which tasks there are.
        answer: what is said of a task that is known.
        max_turns: of a conversation.
        plays: most turns -> how a conversation is played, such as `World.plays`; None: `linear`.

    Returns:
        A source for the stage `teach`; the same pool and seed give the same conversations.

    Raises:
        InputError: the site's tasks are no `task_pool`; `show` is another word; no task has a label; a conversation
            does not come to its end: it is too long for the engine's context or has too many turns, or tools failed.

    Example:
        "3+4=?" labelled 1.0   ->  "7"
        "12*34=?" labelled 0.0 ->  calculator("12*34"), and after its reply "408"

    Paper: arXiv:2502.11435 (SMART), the data it trains on.
    Differs: whether a step needs a tool is found out by attempts without tools, and not told by a language model; a
    question is one step; no justification is written before it, and no decision token.
    Unconfirmed: the threshold; the paper is known from its page and its released description alone.
    """
    rollout = linear(max_turns=max_turns) if plays is None else plays(max_turns)
    if show not in ("need", "always", "never"):
        raise InputError(f"show is need, always or never, not {show!r}")

    def source(site: StageContext) -> list[Rated]:
        tasks = [one for one in tasks_of(site, "by_need").tasks if one.metadata.get(label) is not None]
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
