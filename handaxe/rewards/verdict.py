"""Rewards a judge's verdict at the end of a text."""

from collections.abc import Sequence
from itertools import permutations

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["TAGS", "last_verdict", "verdict"]

TAGS = ("<answer>[[A]]</answer>", "<answer>[[B]]</answer>")
"""Tags of the paper."""
TAIL = 80
"""Characters that the paper reads."""


def verdict(*, tags: Sequence[str] = TAGS, tail: int = TAIL) -> Reward:
    """Give 1 for the correct tag in the last characters, without another tag there, else -1.

        R_i = 1 if last_verdict(text_i) = gold, else -1

    Args:
        tags: one for each label, in the order of the alphabet: the first is the verdict "A".
        tail: characters that are read; 80 in the paper.

    Returns:
        A reward with outcome [G], -1 or 1. No turn, no tag and two different tags: -1.

    Raises:
        InputError: see `last_verdict`. TaskError: the task has no answer.

    Example:
        answer "A"; "<answer>[[A]]</answer>", "[[A]]", "<answer>[[B]]</answer> <answer>[[A]]</answer>"  ->  1, -1, -1

    Paper: arXiv:2505.02387 (RM-R1), the correctness reward, by its released code.
    Differs: nothing.
    """
    last_verdict("", tags=tags, tail=tail)

    def score(trajectory: Trajectory) -> float:
        found = last_verdict(final_text(trajectory), tags=tags, tail=tail)
        return 1.0 if found in gold_answers(trajectory.task) else -1.0

    return outcome(score)


def last_verdict(text: str, *, tags: Sequence[str] = TAGS, tail: int = TAIL) -> str | None:
    """Return the label of the only tag in the last `tail` characters of a text; None with no tag, or with several.

    A tag that repeats counts once. A tag that begins before the last `tail` characters is not read.

    Args:
        text: of the judge.
        tags: one for each label "A", "B", ..., 2 or more; no tag is a part of another.
        tail: characters, at least those of the longest tag.

    Raises:
        InputError: fewer than two tags, a tag within another, or a tail shorter than a tag.

    Example:
        "[[A]] or [[B]]" with tags ("[[A]]", "[[B]]"): tail 5 -> "B", tail 14 -> None
    """
    within = any(one in two for one, two in permutations(tags, 2))
    if len(tags) < 2 or within or tail < max(map(len, tags)):
        raise InputError(f"give two tags or more, none within another, and a tail that holds each: {tags}, {tail}")
    end = text[-tail:]
    found = [chr(ord("A") + place) for place, tag in enumerate(tags) if tag in end]
    return found[0] if len(found) == 1 else None
