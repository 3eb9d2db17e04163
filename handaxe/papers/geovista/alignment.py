"""Rewards answers that agree with what a tool found, and punishes those that do not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task, Trajectory
from handaxe.papers.geovista.whole_words import holds, words_of
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["alignment"]


def alignment(
    *,
    correct: Reward,
    tools: Collection[str] = ("search",),
    answers: Callable[[Task], Iterable[str]] = gold_answers,
    correct_above: float = 0.5,
) -> Reward:
    """Give 1 where the answer was found and said, -1 where it was found and another said, 0 where it was not found.

        found_i = some reply with status ok of one of `tools` holds an answer of the task as whole words
        R_i     = 1   where found_i and correct_i > correct_above
                = -1  where found_i and not
                = 0   elsewhere, right or wrong

    Words are compared as in `query_leak`: without case, articles and whatever stands between words.

    Args:
        correct: what tells right from wrong.
        tools: whose replies are looked at.
        answers: what a reply must hold; default the task's answers.
        correct_above: right is an outcome of `correct` strictly above this.

    Returns:
        A reward with outcome [G] of -1, 0 and 1 and the channels "correct" and "found" (1 or 0). No call: 0.

    Raises:
        InputError: `tools` is a text; a reward `correct` with per-turn values. TaskError: a task without an answer.

    Example:
        answer Lyon; replies "Lyon, 84, FR", "Lyon, 84, FR", "Nice, 93, FR"; said Lyon, Nice, Lyon  ->  1, -1, 0

    Paper: arXiv:2511.15705 (GeoVista), the alignment of a variant of its released code.
    Differs: an answer counts as whole words.
    """
    if isinstance(tools, str):
        raise InputError(f"tools is {tools!r}; give the names of tools, such as ('search',)")
    names = set(tools)

    def found(trajectory: Trajectory) -> float:
        wanted = [words_of(answer) for answer in answers(trajectory.task)]
        said = [words_of(reply.content) for reply in trajectory.replies if reply.status == "ok" and reply.name in names]
        return float(any(holds(text, phrase) for text in said for phrase in wanted))

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        right = outcome_only(parts["correct"], "correct").outcome > correct_above
        return Scores(parts["found"].outcome * np.where(right, 1.0, -1.0))

    return Combined({"correct": correct, "found": outcome(found)}, merge)
