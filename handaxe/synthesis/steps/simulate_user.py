"""Step: gives a task a simulated user with persona and goals, verified by the expert of the world."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Group, Sampling, Task, Trajectory
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.scoring import score_group
from handaxe.synthesis.ask_values import AskedValue, ask_values, desk_settings
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["UserScenes", "simulate_user"]

CORRECT = 0.5
READ = json_object({"persona": str, "goals": list})


class UserScenes(NamedTuple):
    """Scenes of a world with a user.

    goals   task -> goals of its user, in words
    make    (task, persona, goals) -> a task with this user; raises TaskError for goals that the world does not know
    name    of both, on which the outcomes depend
    """

    goals: Callable[[Task], Sequence[str]]
    make: Callable[[Task, str, Sequence[str]], Task]
    name: str


def simulate_user(
    world: World,
    env: EnvFactory,
    scenes: UserScenes,
    *,
    personas: Sequence[str],
    desk: AskDesk | None = None,
    tries: int = 2,
    temperature: float = 0.7,
    max_tokens: int = 256,
) -> SynthesisStep:
    """Make the step "simulate_user": a task -> the task of a user with a persona and goals.

        rule    draws a persona; the goals are those of the task
        model   chooses a persona and writes goals, with those of the task as an example
        kept  <=>  the world knows the goals, and its expert reaches them in each of `tries` rollouts with other seeds

    Args:
        world: has an expert and a user.
        env: of the tasks.
        scenes: of the world.
        personas: of users, one or more.
        desk: asks the model; None for the rule.
        tries: rollouts, 1 or more; the user may behave differently in each.
        temperature, max_tokens: of a model's answer.

    Returns:
        A step that reads and makes drafts of kind "task", with the note "user": persona, goals and turns.

    Raises:
        InputError: no persona, tries below 1, or a world without an expert; while running, see `ask_values`.

    Example:
        persona hard, goals "#W2378156 status?" and "#W6247578 no longer needed", which the expert reaches in 9 turns

    Paper: arXiv:2508.18669 (MUA-RL), users with scenario, persona and goal.
    Unconfirmed: the wording of the prompt.
    Differs: a goal is verified by execution of the expert.
    """
    expert = world.need("expert")
    if not personas or tries < 1:
        raise InputError(f"a simulated user has one persona or more and tries from 1, not {[*personas]} and {tries}")

    def outcome(draft: SynthesisDraft, persona: str, goals: Sequence[str], seed: int) -> DraftOutcome:
        try:
            task = scenes.make(draft_task(draft), persona, goals)
            played = [_played(world, env, task, expert, derive_seed("user", seed, draft.id, k)) for k in range(tries)]
        except TaskError:
            return dropped("unknown goals")
        if not all(_reached(world, one) for one in played):
            return dropped("the expert does not reach the goals")
        note = {"persona": persona, "goals": len(goals), "turns": max(len(one.turns) for one in played)}
        return kept(task_draft(task, parents=(draft.id,), notes={**draft.notes, "user": note}))

    def asked_outcome(draft: SynthesisDraft, own: AskedValue[dict[str, Any]], seed: int) -> DraftOutcome:
        if isinstance(own.value, NoAnswer):
            return dropped(f"no answer: {own.value.reason}")
        persona, goals = own.value["persona"], own.value["goals"]
        if persona not in personas:
            return dropped("unknown persona")
        if not goals or not all(isinstance(one, str) and one.strip() for one in goals):
            return dropped("goals of another form")
        return outcome(draft, persona, [one.strip() for one in goals], seed)

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        if desk is None:
            drawn = [personas[derive_seed("persona", at.seed, one.id) % len(personas)] for one in drafts]
            pairs = list(zip(drafts, drawn, strict=True))
            return at.map(lambda pair: outcome(*pair, scenes.goals(draft_task(pair[0])), at.seed), pairs)
        asks = [_question(desk, one, scenes, personas, Sampling(temperature, max_tokens=max_tokens)) for one in drafts]
        rows = list(zip(drafts, ask_values(desk, asks, READ), strict=True))
        return at.map(lambda row: asked_outcome(*row, at.seed)._replace(asked=row[1].asked), rows)

    prompt = None if desk is None else find_prompt("persona", terse=desk.answerer.terse)
    who = desk_settings(desk, f"{prompt.name} {prompt.digest[:12]}" if prompt else "")
    settings = {**who, "scenes": scenes.name, "personas": [*personas], "tries": tries, "world": world.name}
    return SynthesisStep("simulate_user", run, settings=settings)


def _played(world: World, env: EnvFactory, task: Task, expert: Any, seed: int) -> Trajectory:
    rollout = world.make_rollout(world.start_turns)
    return demonstrate(env, task, expert, format=Transcript(), seed=seed, rollout=rollout)


def _reached(world: World, one: Trajectory) -> bool:
    (value,) = score_group(world.correct, Group(one.task, (one,)))[1].outcome
    return bool(value > CORRECT)


def _question(
    desk: AskDesk, draft: SynthesisDraft, scenes: UserScenes, personas: Sequence[str], sampling: Sampling
) -> Ask:
    example = json.dumps(list(scenes.goals(draft_task(draft))))
    fields = {"personas": ", ".join(personas), "example": example}
    prompt = find_prompt("persona", terse=desk.answerer.terse)
    return Ask(prompt, fields, role="user writer", about=(draft.id, -1, ""), sampling=sampling)
