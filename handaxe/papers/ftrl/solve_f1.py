"""Rewards one message by how many sub-questions its calls solve, for how many calls."""

from __future__ import annotations

from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory, Turn
from handaxe.papers.ftrl.solved import Unsolved, says, solved_by, unsolved_of
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["Measure", "solve_f1"]

Measure = Literal["f1", "precision", "recall", "product"]
FRAGMENTS = ("<tool_call>", "</tool_call>", "<tool_parsed_response>")


def solve_f1(*, measure: Measure = "f1", empty: float = -0.5, broken: float = -0.3, unstated: float = 0.5) -> Reward:
    """Score every message of an attempt by what is still unsolved when it is said.

        n   calls of the message, malformed ones included
        s   those of them whose reply holds an unsolved result of that tool, each result counted once
        u   unsolved results before the message

        a good call     r = 2 * s / (n + 1)     "f1"
                            s / n               "precision"
                            s                   "recall"
                            s * s / n           "product"
        none            r = broken              only malformed calls are made, or a piece of one is said
                            empty               nothing is said
                            1 / (1 + u)         the answer is among what is said
                            unstated            it is not, and u = 0
                            0                   otherwise
        R = mean of r over the messages of the attempt

    A result is in a text when all of its parts, divided by ", ", are; case and commas do not count. Only the policy's
    messages count: those that a task opens with are told by what it keeps as unsolved.

    Args:
        measure: what a message with calls earns; "f1" in the paper, the others are those it is compared with.
        empty, broken, unstated: the paper's -0.5, -0.3 and 0.5.

    Returns:
        A reward with outcome [G]. The task keeps `metadata["unsolved"]`, {tool: [result, ...]}, and its answer.

    Raises:
        TaskError: the task keeps no such thing, or no answer. InputError: no such measure. An attempt without a
            message counts as one empty message.

    Example:
        unsolved {add: ["7"], mul: ["12"]}: three calls of which two return 7 and 12 -> 2 * 2 / 4 = 1; one call that
        solves one -> 2 * 1 / 2 = 1; four calls that solve one -> 2 / 5 = 0.4; no call, nothing said -> -0.5.
        unsolved {add: ["7"]}: no call, the answer said -> 1 / 2 = 0.5

    Paper: arXiv:2508.08791 (FTRL), the reward of one step as its released code has it (reward_score/tool.py).
    Differs: trained there on single messages, of which the mean over messages is the reward itself; malformed calls
        count as calls, and as broken syntax where there are no others.
    """
    if measure not in ("f1", "precision", "recall", "product"):
        raise InputError(f"there is no measure {measure!r}; there are f1, precision, recall and product")

    def message(turn: Turn, unsolved: Unsolved, answers: tuple[str, ...]) -> float:
        made, text = len(turn.parsed.calls) + len(turn.parsed.errors), turn.parsed.text
        if turn.parsed.calls:
            solved = sum(solved_by(turn.replies, unsolved)[0])
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
        left = sum(map(len, unsolved.values()))
        if any(says(text, answer) for answer in answers):
            return 1 / (1 + left)
        return unstated if left == 0 else 0.0

    def score(trajectory: Trajectory) -> float:
        unsolved: Unsolved = unsolved_of(trajectory.task)
        answers, found = gold_answers(trajectory.task), []
        for turn in trajectory.turns:
            found.append(message(turn, unsolved, answers))
            unsolved = solved_by(turn.replies, unsolved)[1]
        return sum(found) / len(found) if found else empty

    return outcome(score)
