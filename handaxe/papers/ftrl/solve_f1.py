"""Reward of a message by the F-measure of solved sub-questions."""

from __future__ import annotations

from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory, Turn
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_answers
from handaxe.rewards.parts.solved import Unsolved, contains_result, match_results, read_unsolved

__all__ = ["Measure", "several_calls", "solve_f1"]

Measure = Literal["f1", "precision", "recall", "product"]
FRAGMENTS = ("<tool_call>", "</tool_call>", "<tool_parsed_response>")


def solve_f1(*, measure: Measure = "f1", empty: float = -0.5, broken: float = -0.3, unstated: float = 0.5) -> Reward:
    """Score every message of a rollout by newly solved results.

        n   calls of the message, malformed ones included
        s   calls whose reply has an unsolved result of that tool, each result counted once
        u   unsolved results before the message

        with a well-formed call   r = 2 * s / (n + 1)     "f1"
                                      s / n               "precision"
                                      s                   "recall"
                                      s * s / n           "product"
        without                   r = broken              malformed calls, or fragments of call syntax in the text
                                      empty               empty text
                                      1 / (1 + u)         the text has the answer
                                      unstated            it has not, and u = 0
                                      0                   otherwise
        R = mean of r over the messages of the rollout

    A text has a result if it has all parts of it, separated by ", "; case and commas are ignored. Only the policy's
    messages count; the opening messages of a task are reflected in its unsolved results.

    Args:
        measure: reward of a message with calls; "f1" in the paper, the others for its comparison.
        empty, broken, unstated: the paper's -0.5, -0.3 and 0.5.

    Returns:
        A reward with outcome [G]. The task has `metadata["unsolved"]`, {tool: [result, ...]}, and an answer.

    Raises:
        TaskError: the task lacks the unsolved results or the answer. InputError: an unknown measure. A rollout without
            a message counts as one empty message.

    Example:
        unsolved {add: ["7"], mul: ["12"]}: three calls of which two return 7 and 12 -> 2 * 2 / 4 = 1; one call that
        solves one -> 2 * 1 / 2 = 1; four calls that solve one -> 2 / 5 = 0.4; no call, empty text -> -0.5.
        unsolved {add: ["7"]}: no call, the answer in the text -> 1 / 2 = 0.5

    Paper: arXiv:2508.08791 (FTRL), the reward of one step as in its released code (reward_score/tool.py).
    Differs: the paper trains on single messages, for which the mean over messages is the reward itself; malformed calls
        count as calls, and as broken syntax in a message without others.
    """
    if measure not in ("f1", "precision", "recall", "product"):
        raise InputError(f"unknown measure {measure!r}; give f1, precision, recall or product")

    def message(turn: Turn, unsolved: Unsolved, answers: tuple[str, ...]) -> float:
        made, text = len(turn.parsed.calls) + len(turn.parsed.errors), turn.parsed.text
        if turn.parsed.calls:
            solved = sum(match_results(turn.replies, unsolved)[0])
            by_measure = {
                "f1": 2 * solved / (made + 1),
                "precision": solved / made,
                "recall": float(solved),
                "product": solved * solved / made,
            }
            return by_measure[measure]
        if made or any(fragment in text for fragment in FRAGMENTS):
            return broken
        if not text.strip():
            return empty
        open_results = sum(map(len, unsolved.values()))
        if any(contains_result(text, answer) for answer in answers):
            return 1 / (1 + open_results)
        return unstated if open_results == 0 else 0.0

    def score(trajectory: Trajectory) -> float:
        unsolved: Unsolved = read_unsolved(trajectory.task)
        answers, found = gold_answers(trajectory.task), []
        for turn in trajectory.turns:
            found.append(message(turn, unsolved, answers))
            unsolved = match_results(turn.replies, unsolved)[1]
        return sum(found) / len(found) if found else empty

    return outcome(score)


def several_calls() -> Reward:
    """Score the share of a rollout's messages on which F1, precision and recall differ.

        share of messages with n >= 2 calls, malformed ones included, of which one or more solve a result

    Returns:
        A reward with outcome [G], from 0 to 1; 0 without a message.

    Example:
        three calls of which two solve -> 1;  one call that solves one -> 0;  two calls that solve none -> 0

    Paper: arXiv:2508.08791 (FTRL), the case in which its F1 changes a reward; the share is not in the paper.
    Differs: nothing.
    """

    def score(trajectory: Trajectory) -> float:
        unsolved: Unsolved = read_unsolved(trajectory.task)
        found = []
        for turn in trajectory.turns:
            solved, unsolved = match_results(turn.replies, unsolved)
            found.append(len(turn.parsed.calls) + len(turn.parsed.errors) >= 2 and sum(solved) > 0)
        return sum(found) / len(found) if found else 0.0

    return outcome(score)
