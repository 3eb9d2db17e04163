"""Step: keeps tasks solved by the world's expert."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Group, Trajectory
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["solve"]

CORRECT = 0.5


def solve(world: World, env: EnvFactory, *, tries: int = 2) -> SynthesisStep:
    """Make the step "solve": plays the expert in fresh environments, for worlds whose answers no single reply holds.

        kept  <=>  the outcome of each of `tries` rollouts is above 0.5, and all have equal replies

    Args:
        world: has an expert.
        env: of the tasks.
        tries: rollouts, 1 or more.

    Returns:
        A step that keeps drafts of kind "task", with the note "turns".

    Raises:
        InputError: tries below 1; the world has no expert.

    Example:
        an expert that is correct twice with equal replies: kept

    Idea: as `replay`, with the expert in place of reference calls.
    """
    if tries < 1:
        raise InputError(f"tries is {tries}; give 1 or more")
    expert = world.need("expert")

    def one(draft: SynthesisDraft) -> DraftOutcome:
        task, chat = draft_task(draft), Transcript()
        played = [
            demonstrate(env, task, expert, format=chat, seed=seed, rollout=world.make_rollout(world.start_turns))
            for seed in range(tries)
        ]
        if any(_replies(again) != _replies(played[0]) for again in played):
            return dropped("replies differ")
        outcomes = [world.correct(Group(task, (again,))).outcome[0] for again in played]
        if not all(outcome > CORRECT for outcome in outcomes):
            return dropped("the expert fails")
        return kept(draft.noted({"turns": len(played[0].turns)}))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        return at.map(one, drafts)

    return SynthesisStep("solve", run, settings={"tries": tries, "world": world.name})


def _replies(one: Trajectory) -> list[tuple[Any, ...]]:
    return [(reply.name, reply.content, reply.status) for reply in one.replies]
