"""Rewards an answer mathematically equal to a reference answer.

Kept: users expect symbolic comparison by math-verify; no method here has formulas as answers.
"""

from collections.abc import Callable
from typing import Any

from handaxe.core.errors import InputError, TaskError, VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["math_match"]

ANCHORS = ("$", "\\boxed", "\\(", "\\[")


def math_match(*, extract: Callable[[Trajectory], str] = final_text, seconds: int | None = 5) -> Reward:
    r"""Give 1 for an answer equal to a reference answer by math-verify, else 0.

        R_i = 1 if verify(parse(g), parse(extract(trajectory_i))) for a reference g, else 0

    Args:
        extract: the answer text. In the whole final text math-verify reads the boxed or last expression.
        seconds: limit for one parsing and one comparison. It uses a signal, so it works in the main thread only; None
            sets no limit and works anywhere, as `AsyncConfig(reward_beside=True)` requires.

    Returns:
        A reward with outcome [G] of 0 and 1. Text that cannot be parsed scores 0.

    Raises:
        InputError: math-verify is not installed.
        TaskError: the task has no answer, or an answer that cannot be parsed.
        VerifierError: the comparison timed out or failed: undecided is not wrong.

    Example:
        answer "\frac{1}{2}"; final texts "it is \boxed{0.5}", "\boxed{2/4}", "\boxed{0.6}"  ->  1, 1, 0

    Idea: two spellings of one number are the same answer; a library compares formulas.
    """
    try:
        import math_verify
        from math_verify.errors import TimeoutException
    except ImportError as error:
        raise InputError('math_match needs math-verify: pip install "handaxe[math]"') from error

    def parse(text: str, *, wrap: bool) -> list[Any]:
        anchored = any(anchor in text for anchor in ANCHORS)
        text = f"${text}$" if wrap and text and not anchored else text
        return math_verify.parse(text, parsing_timeout=seconds, raise_on_error=True)

    def score(trajectory: Trajectory) -> float:
        golds = [(text, parse(text, wrap=True)) for text in gold_answers(trajectory.task)]
        for text, gold in golds:
            if not gold:
                raise TaskError(f"task {trajectory.task.id!r}: math-verify cannot parse the answer {text!r}")
        answer = extract(trajectory)
        try:
            target = parse(answer, wrap="\\" in answer)
        except Exception:  # the policy wrote text that cannot be parsed
            return 0.0
        return float(any(math_verify.verify(g, target, timeout_seconds=seconds, raise_on_error=True) for _, g in golds))

    def limited(trajectory: Trajectory) -> float:
        try:
            return score(trajectory)
        except TimeoutException as error:  # no Exception, so the lift does not catch it
            raise VerifierError(f"math-verify took more than {seconds} s") from error

    return outcome(limited)
