"""Candidates of a judge: answers of rollouts, with the scores of the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, Scores, Task, Trajectory
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["Judged", "ScoredAnswer", "Speaker", "judged", "play_answer", "play_unequal"]

MOST = 64
"""Siblings of a task at most."""

Speaker = Callable[[Task, random.Random], str]
"""(task, draws) -> an answer, correct or not; equal draws give equal answers."""


class ScoredAnswer(NamedTuple):
    """An answer, and its score by the oracle."""

    text: str
    score: float


class Judged(NamedTuple):
    """A task of another world, and answers to it."""

    task: Task
    candidates: tuple[ScoredAnswer, ...]


def judged(group: Group, scores: Scores) -> Judged:
    """Take the final texts of a scored group as candidates, of any policy or speaker.

    Args:
        group: of G rollouts.
        scores: of the oracle, with outcome [G].

    Returns:
        G candidates, in the order of the group.

    Raises:
        InputError: the group has another number of rollouts than scores.

    Example:
        rollouts "14" and "15" of "4+7+3=?" with outcomes 1 and 0  ->  ScoredAnswer("14", 1.0), ScoredAnswer("15", 0.0)
    """
    score_G = np.asarray(scores.outcome, np.float64)
    if score_G.shape != (len(group),):
        raise InputError(f"a group of {len(group)} rollouts has scores of shape {score_G.shape}")
    texts = [one.final_text.strip() for one in group]
    return Judged(group.task, tuple(ScoredAnswer(*pair) for pair in zip(texts, score_G.tolist(), strict=True)))


def play_answer(world: World, task: Task, speaker: Speaker, number: int) -> Trajectory:
    """Play a rollout of one turn; draws depend on the task and the number of the sibling alone."""
    text = speaker(task, random.Random(derive_seed("judged answer", task.id, number)))
    return demonstrate(
        world.env(()), task, lambda task, facts: Message("assistant", text), format=Compact(), max_turns=1
    )


def play_unequal(world: World, task: Task, speaker: Speaker, *, count: int) -> Judged:
    """Play siblings of one turn until `count` have different scores by the world's rule.

    Args:
        world: of the task.
        task: to answer.
        speaker: gives the answers.
        count: candidates, >= 2.

    Returns:
        Candidates with different scores, in the order of the siblings; the first of each score.

    Raises:
        InputError: too few different scores among 64 siblings.

    Example:
        siblings with scores 0, 0, 1, count 2  ->  the first and the third
    """
    found = dict[float, ScoredAnswer]()
    for number in range(MOST):
        group = Group(task, (play_answer(world, task, speaker, number),))
        (one,) = judged(group, world.correct(group)).candidates
        found.setdefault(one.score, one)
        if len(found) == count:
            return Judged(task, tuple(found.values()))
    raise InputError(f"task {task.id!r} has {len(found)} different scores in {MOST} rollouts, not {count}")
