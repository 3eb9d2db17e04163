"""Rewards the form of a listwise judge's reply."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import combinations

from handaxe.core.protocols import Reward
from handaxe.papers.reward_anything.read_ranking import ParsedRanking, read_ranking
from handaxe.rewards.outcome import outcome

__all__ = ["form_score", "ranking_format"]

OPEN, CLOSE = "<think>", "</think>"
THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
LONG = 50
"""Characters that a substantial thought exceeds."""


def ranking_format() -> Reward:
    """Give the form of a reply, for the names of the task's reference scores, `task.answer`.

        R_i = form_score(reply i, names)

    Returns:
        A reward with outcome [G], from 0 to 1.

    Example:
        a whole reply with a short thought  ->  0.95

    Paper: arXiv:2506.03637 (RewardAnything), the format reward, by its released code.
    Differs: see `form_score`.
    """
    return outcome(lambda one: form_score(one.final_text, one.task.answer))


def form_score(text: str, names: Collection[str]) -> float:
    """Add up the parts of the form that a reply has.

        0.15  both tags of a thought (0.05 for one), and 0.05 if the thought has more than 50 characters
        0.20  a JSON object (0.15 if other text surrounds it)
        0.10  the key "scores", and 0.10 the key "best-to-worst"
        0.20  x share of the names that have a score
        0.20  x share of the ranking's pairs whose scores do not rise, if both keys are there

    Args:
        text: of the judge.
        names: of the responses, one or more.

    Returns:
        From 0 to 1.

    Example:
        '<think>b</think>{"scores":{"a":1,"b":4},"best-to-worst":["b","a"]}', names a, b  ->  0.95
        without the thought  ->  0.8;  with the ranking a, b  ->  0.75

    Paper: arXiv:2506.03637 (RewardAnything), the format reward, by its released code.
    Unconfirmed: the share of consistent pairs; the released code does not define its check.
    Differs: see `read_ranking`.
    """
    found = read_ranking(text)
    score = _thought(text)
    if found.parsed:
        score += 0.15 if found.searched else 0.2
    if found.scores is not None:
        score += 0.1 + 0.2 * len(set(names) & set(found.scores)) / len(names)
    if found.ranking is not None:
        score += 0.1
    return score + 0.2 * _consistency(found)


def _thought(text: str) -> float:
    if OPEN in text and CLOSE in text:
        thought = THOUGHT.search(text)
        return 0.2 if thought and len(thought[1].strip()) > LONG else 0.15
    return 0.05 if OPEN in text or CLOSE in text else 0.0


def _consistency(found: ParsedRanking) -> float:
    """Share of the pairs of a ranking, with scores, whose first score is not below the second; 0 without a pair."""
    if found.scores is None or found.ranking is None:
        return 0.0
    ranked = [found.scores[name] for name in dict.fromkeys(found.ranking) if name in found.scores]
    pairs = list(combinations(ranked, 2))
    return sum(first >= second for first, second in pairs) / len(pairs) if pairs else 0.0
