"""Checks of a world's expert and of empty answers: correctness, reward, and limits of turns, tokens and context."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import HandaxeError
from handaxe.core.protocols import ChatFormat, EnvFactory, Reward, Rollout
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, grade, not_checked
from handaxe.ops.ragged import group_rewards
from handaxe.rewards.parts.scoring import score_group
from handaxe.training.loop.rate import rewinder
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["Demonstrations", "check_empty", "check_expert", "check_limits", "play_demonstrations"]

CORRECT = 0.5
"""Outcomes above this value are correct."""
MAX_TURNS = 64
"""Turn limit of an expert."""


class Demonstrations(NamedTuple):
    """Trajectories of the expert and of empty answers on the same tasks.

    `expert` is empty for a world without expert. `error` is the exception of the expert or the environment, "" for
    none.
    """

    tasks: tuple[Task, ...]
    expert: tuple[Trajectory, ...]
    empty: tuple[Trajectory, ...]
    error: str = ""


def play_demonstrations(
    world: World, env: EnvFactory, format: ChatFormat, *, tasks: Sequence[Task], seconds: float = 10.0
) -> Demonstrations:
    """Play tasks with the expert and with empty answers, in the environment and chat format of the run.

    Args:
        world: supplies expert and rollout strategy.
        env: environment with the tools of the run.
        format: of the run.
        tasks: played in order until the time is up; at least two are played.
        seconds: time limit.
    """
    expert, empty = list[Trajectory](), list[Trajectory]()
    begun = time.monotonic()
    for number, task in enumerate(tasks):
        if number > 1 and time.monotonic() - begun > seconds:
            break
        try:
            if world.expert is not None:
                rollout = world.make_rollout(MAX_TURNS)
                one = demonstrate(env, task, world.expert, format=format, id=f"expert/{task.id}", rollout=rollout)
                expert.append(one)
            empty.append(demonstrate(env, task, _empty, format=format, id=f"empty/{task.id}", max_turns=1))
        except Exception as error:  # an expert is the user's own code
            done, cause = tuple(tasks[: len(empty)]), f"task {task.id!r}: {type(error).__name__}: {error}"
            return Demonstrations(done, tuple(expert), tuple(empty), cause)
    return Demonstrations(tuple(tasks[: len(empty)]), tuple(expert), tuple(empty))


def _empty(task: Task, facts: Any) -> Message:
    del task, facts
    return Message("assistant", "")


def check_expert(
    played: Demonstrations, correct: Reward, reward: Reward, *, limits: Thresholds = THRESHOLDS
) -> Finding:
    """Check that the expert is correct and earns more reward than the empty answer.

    Args:
        played: result of `play_demonstrations`.
        correct: correctness rule of the world.
        reward: training reward of the run.
    """
    remedy = "the expert, the tools or the reward is at fault: play the task by hand, or run check_world"
    if played.error:
        return Finding("expert", "error", f"cannot be played: {played.error}", remedy)
    if not played.expert:
        return not_checked("expert", "the world has no expert", "add an expert, to show that the tasks can be solved")
    correctness = [_is_correct(correct, one) for one in played.expert]
    failed = [one for one, solved in zip(played.expert, correctness) if not solved]
    figures = {"tasks": float(len(correctness)), "correct": float(np.mean(correctness))}
    found = f"correct on {sum(correctness)} of {len(correctness)} tasks"
    level = grade(1 - figures["correct"], limits.expert)
    if level != "ok":
        first = failed[0]
        ending = f"{first.ending.kind} {first.ending.reason}".strip()
        found += f"; incorrect on {first.task.id!r} with the answer {first.final_text[:60]!r} ({ending})"
        return Finding("expert", level, found, remedy, figures)
    try:
        scores = _rewards(reward, played)
    except HandaxeError as error:
        return Finding("expert", "ok", f"{found}; the reward cannot be computed outside a run: {error}", "", figures)
    if not scores.size:
        return Finding("expert", "ok", f"{found}; the reward scored no pair of expert and empty answer", "", figures)
    figures |= {"reward": float(scores[0].mean()), "empty_reward": float(scores[1].mean())}
    found += f"; mean reward {figures['reward']:.3g}, of the empty answer {figures['empty_reward']:.3g}"
    if figures["reward"] <= figures["empty_reward"]:
        return Finding(
            "expert",
            "error" if figures["reward"] < figures["empty_reward"] else "warning",
            found,
            "the reward does not prefer correct answers to empty answers: training would learn empty answers",
            figures,
        )
    return Finding("expert", "ok", found, figures=figures)


def check_empty(played: Demonstrations, correct: Reward, *, limits: Thresholds = THRESHOLDS) -> Finding:
    """Check that empty answers are incorrect."""
    scorable = [one for one in played.empty if one.ending.kind not in NEVER_SCORED]
    if not scorable:
        return not_checked("empty answer", played.error or "no rollout with an empty answer could be scored")
    correctness = [_is_correct(correct, one) for one in scorable]
    figures = {"tasks": float(len(correctness)), "correct": float(np.mean(correctness))}
    level = grade(figures["correct"], limits.empty)
    found = f"counts as correct on {sum(correctness)} of {len(correctness)} tasks"
    remedy = "the correctness rule accepts an empty answer, and training would learn it: change the rule"
    return Finding("empty answer", level, found, "" if level == "ok" else remedy, figures)


def check_limits(
    played: Demonstrations,
    world: World,
    env: EnvFactory,
    format: ChatFormat,
    *,
    rollout: Rollout,
    max_tokens: int,
    context: int,
    limits: Thresholds = THRESHOLDS,
) -> Finding:
    """Check that the expert's trajectories fit the run's limits of turns, tokens per turn and context.

    Args:
        played: result of `play_demonstrations`.
        world, env, format: as for `play_demonstrations`.
        rollout: rollout strategy of the run, with its turn limit.
        max_tokens: token limit of a turn.
        context: token limit of a sequence.
    """
    if not played.expert or world.expert is None:
        return not_checked("limits", "the world has no expert, so the length of a correct trajectory is unknown")
    longest = max(turn.stop - turn.start for one in played.expert for turn in one.turns)
    turns = max(len(one.turns) for one in played.expert)
    whole = max(len(sequence) for one in played.expert for sequence in one.sequences)
    figures = {"turns": float(turns), "turn_tokens": float(longest), "tokens": float(whole), "context": float(context)}
    cut = list[str]()
    for one in played.expert:
        if any(turn.stop - turn.start > max_tokens for turn in one.turns):
            cut.append(f"a turn of {longest} tokens (limit {max_tokens})")
            continue
        try:
            again = demonstrate(env, one.task, world.expert, format=format, rollout=rollout, context=context)
        except Exception as error:  # a strategy that needs a model, or an expert that gives up
            return not_checked("limits", f"the rollout strategy of the run cannot play the expert: {error}")
        if again.ending.kind == "truncated":
            cut.append(f"{again.ending.reason} (needs {turns} turns, and {whole} tokens of a context of {context})")
    figures["cut"] = len(cut) / len(played.expert)
    found = (
        f"the expert needs at most {turns} turns, {longest} of {max_tokens} tokens a turn, and {whole} of {context} "
        "tokens of context"
    )
    if not cut:
        return Finding("limits", "ok", found, figures=figures)
    return Finding(
        "limits",
        grade(figures["cut"], limits.limits),
        f"the expert itself is truncated on {len(cut)} of {len(played.expert)} tasks by {cut[0]}",
        "raise --max-turns or --max-tokens, shorten the replies of tools, or use a model with a longer context",
        figures,
    )


def _is_correct(correct: Reward, one: Trajectory) -> bool:
    if one.ending.kind in NEVER_SCORED:
        return False
    return bool(score_group(correct, Group(one.task, (one,)))[1].outcome[0] > CORRECT)


def _rewards(reward: Reward, played: Demonstrations) -> np.ndarray:
    """[2, tasks] rewards of the expert and of the empty answer, scored in one group per task."""
    rewind, earned = rewinder(reward), list[np.ndarray]()
    for pair in zip(played.expert, played.empty):
        group = Group(pair[0].task, pair)
        earned.append(group_rewards(group, score_group(reward, group)[1]))
        rewind()
    found = np.array(earned).T
    return found[:, np.isfinite(found).all(0)]
