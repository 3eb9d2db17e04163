"""Whether a world's expert and an empty answer score as they should, and whether the expert has the room it needs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import HandaxeError
from handaxe.core.protocols import ChatFormat, EnvFactory, Reward, Rollout
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, graded, unchecked
from handaxe.ops.ragged import rewards_of
from handaxe.rewards.parts.scoring import score_group
from handaxe.training.loop.rate import rewinder
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["Shown", "check_empty", "check_expert", "check_room", "show"]

CORRECT = 0.5
"""An attempt whose outcome is above this is right."""
LONGEST = 64
"""Turns that an expert may take."""


class Shown(NamedTuple):
    """What an expert did, and what came of saying nothing, at the same tasks. `expert` is empty without one, and
    `broken` says what the expert or the environment raised."""

    tasks: tuple[Task, ...]
    expert: tuple[Trajectory, ...]
    empty: tuple[Trajectory, ...]
    broken: str = ""


def show(world: World, env: EnvFactory, format: ChatFormat, *, tasks: Sequence[Task], seconds: float = 10.0) -> Shown:
    """Let the expert and one who says nothing try these tasks, in the run's own environment and chat format.

    Args:
        world: whose expert; it is played as the world plays.
        env: with the tools that the run offers.
        format: of the run.
        tasks: tried in order, until the time is up; two are tried in any case.
        seconds: that may be spent.
    """
    shown, silent = list[Trajectory](), list[Trajectory]()
    begun = time.monotonic()
    for number, task in enumerate(tasks):
        if number > 1 and time.monotonic() - begun > seconds:
            break
        try:
            if world.expert is not None:
                rollout = world.plays(LONGEST)
                one = demonstrate(env, task, world.expert, format=format, id=f"expert/{task.id}", rollout=rollout)
                shown.append(one)
            silent.append(demonstrate(env, task, _empty, format=format, id=f"empty/{task.id}", max_turns=1))
        except Exception as error:  # an expert is the user's own code
            done = tuple(tasks[: len(silent)])
            return Shown(done, tuple(shown), tuple(silent), f"task {task.id!r}: {type(error).__name__}: {error}")
    return Shown(tuple(tasks[: len(silent)]), tuple(shown), tuple(silent))


def _empty(task: Task, facts: Any) -> Message:
    del task, facts
    return Message("assistant", "")


def check_expert(shown: Shown, correct: Reward, reward: Reward, *, limits: Thresholds = THRESHOLDS) -> Finding:
    """Whether the expert is right, and earns more than the empty answer.

    Args:
        shown: what `show` made.
        correct: says what is right in the world.
        reward: what the run trains on.
    """
    remedy = "the expert, the tools or the reward is at fault: play one such task by hand, or run check_world"
    if shown.broken:
        return Finding("expert", "wrong", f"it cannot be played: {shown.broken}", remedy)
    if not shown.expert:
        return unchecked("expert", "the world has no expert", "give it one, to know that its tasks can be solved")
    right = [_right(correct, one) for one in shown.expert]
    wrong = [one for one, fine in zip(shown.expert, right) if not fine]
    figures = {"tasks": float(len(right)), "right": float(np.mean(right))}
    found = f"right on {sum(right)} of {len(right)} tasks"
    level = graded(1 - figures["right"], limits.expert)
    if level != "ok":
        first = wrong[0]
        ended = f"{first.ending.kind} {first.ending.reason}".strip()
        found += f"; not on {first.task.id!r}, where it said {first.final_text[:60]!r} ({ended})"
        return Finding("expert", level, found, remedy, figures)
    try:
        earned = _earned(reward, shown)
    except HandaxeError as error:
        return Finding("expert", "ok", f"{found}; what it earns cannot be asked apart from a run: {error}", "", figures)
    if not earned.size:
        return Finding("expert", "ok", f"{found}; the reward could score no expert beside an empty answer", "", figures)
    figures |= {"reward": float(earned[0].mean()), "empty_reward": float(earned[1].mean())}
    found += f", and earns {figures['reward']:.3g}, the empty answer {figures['empty_reward']:.3g}"
    if figures["reward"] <= figures["empty_reward"]:
        return Finding(
            "expert",
            "wrong" if figures["reward"] < figures["empty_reward"] else "look",
            found,
            "the reward does not prefer what is right to nothing at all: that is what will be learned",
            figures,
        )
    return Finding("expert", "ok", found, figures=figures)


def check_empty(shown: Shown, correct: Reward, *, limits: Thresholds = THRESHOLDS) -> Finding:
    """Whether an empty answer is wrong, as it should be."""
    scorable = [one for one in shown.empty if one.ending.kind not in NEVER_SCORED]
    if not scorable:
        return unchecked("empty answer", shown.broken or "no attempt at saying nothing could be scored")
    right = [_right(correct, one) for one in scorable]
    figures = {"tasks": float(len(right)), "right": float(np.mean(right))}
    level = graded(figures["right"], limits.empty)
    found = f"counts as right on {sum(right)} of {len(right)} tasks"
    remedy = "saying nothing is paid: the score takes an empty answer for a right one"
    return Finding("empty answer", level, found, "" if level == "ok" else remedy, figures)


def check_room(
    shown: Shown,
    world: World,
    env: EnvFactory,
    format: ChatFormat,
    *,
    rollout: Rollout,
    max_tokens: int,
    context: int,
    limits: Thresholds = THRESHOLDS,
) -> Finding:
    """Whether what the expert does fits into the turns, the tokens of a turn and the context that the run allows.

    Args:
        shown: what `show` made.
        world, env, format: as for `show`.
        rollout: how the run plays, with its number of turns.
        max_tokens: of a turn.
        context: most tokens of a sequence.
    """
    if not shown.expert or world.expert is None:
        return unchecked("room", "the world has no expert, so what an attempt needs is not known")
    longest = max(turn.stop - turn.start for one in shown.expert for turn in one.turns)
    turns = max(len(one.turns) for one in shown.expert)
    whole = max(len(sequence) for one in shown.expert for sequence in one.sequences)
    figures = {"turns": float(turns), "turn_tokens": float(longest), "tokens": float(whole), "context": float(context)}
    cut = list[str]()
    for one in shown.expert:
        if any(turn.stop - turn.start > max_tokens for turn in one.turns):
            cut.append(f"a turn of {longest} tokens, where {max_tokens} are allowed")
            continue
        try:
            again = demonstrate(env, one.task, world.expert, format=format, rollout=rollout, context=context)
        except Exception as error:  # a strategy that needs a model, or an expert that gives up
            return unchecked("room", f"the run's way of playing cannot be tried with the expert: {error}")
        if again.ending.kind == "truncated":
            cut.append(f"its {again.ending.reason}: it takes {turns} turns and {whole} tokens of {context}")
    figures["cut"] = len(cut) / len(shown.expert)
    found = (
        f"the expert needs at most {turns} turns, {longest} tokens a turn (of {max_tokens}) and {whole} of {context}"
    )
    if not cut:
        return Finding("room", "ok", found, figures=figures)
    return Finding(
        "room",
        graded(figures["cut"], limits.room),
        f"the expert itself is cut off on {len(cut)} of {len(shown.expert)} tasks, by {cut[0]}",
        "raise --max-turns or --max-tokens, shorten what tools reply, or take a model with a longer context",
        figures,
    )


def _right(correct: Reward, one: Trajectory) -> bool:
    if one.ending.kind in NEVER_SCORED:
        return False
    return bool(score_group(correct, Group(one.task, (one,)))[1].outcome[0] > CORRECT)


def _earned(reward: Reward, shown: Shown) -> np.ndarray:
    """[2, tasks] what the expert and the empty answer earn, side by side in one group a task."""
    rewind, earned = rewinder(reward), list[np.ndarray]()
    for pair in zip(shown.expert, shown.empty):
        group = Group(pair[0].task, pair)
        earned.append(rewards_of(group, score_group(reward, group)[1]))
        rewind()
    found = np.array(earned).T
    return found[:, np.isfinite(found).all(0)]
