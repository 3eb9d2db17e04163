"""Judges of reasoning: pairs with hidden answers, and a rule that counts true lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import PairJudge
from handaxe.core.records import Trajectory
from handaxe.papers.tim.explained_sums import gold_lines, split_answer, stated_lines

__all__ = ["HiddenAnswers", "LineCount", "hidden_answers", "line_count", "step_quality"]


def hidden_answers(*, judge: PairJudge, hide: Callable[[str], str] | None = None) -> HiddenAnswers:
    """Wrap a judge of pairs: the last text of both rollouts reaches the judge without the answer.

    Args:
        judge: such as `asked_pairs(desk=desk, prompt="tim/reasoning")`, or `line_count()`.
        hide: text -> text without the answer; None: the explanation of `explained_sums`.

    Returns:
        A PairJudge.

    Example:
        "4+7=11,11+3=14:14" against ":14"  ->  the judge compares "4+7=11,11+3=14" and ""

    Paper: arXiv:2511.10899 (TIM), win rate of reasoning with hidden answers.
    Differs: nothing.
    """
    return HiddenAnswers(judge, hide or (lambda text: split_answer(text)[0]))


class HiddenAnswers:
    """See `hidden_answers`."""

    def __init__(self, judge: PairJudge, hide: Callable[[str], str]):
        self._judge = judge
        self._hide = hide

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P] probabilities that the reasoning of the first is better."""
        return self._judge.compare([(self._hidden(a), self._hidden(b)) for a, b in pairs])

    def _hidden(self, one: Trajectory) -> Trajectory:
        if not one.turns:
            return one
        last = one.turns[-1]
        parsed = replace(last.parsed, text=self._hide(last.parsed.text))
        return replace(one, turns=(*one.turns[:-1], replace(last, parsed=parsed)))


def step_quality(one: Trajectory) -> float:
    """Distinct lines of the sum in the texts, less false lines.

    Example:
        "4+7=11,11+3=15" of "4+7+3"  ->  1 - 1 = 0
    """
    stated = stated_lines(one)
    return float(len(set(gold_lines(one.task)) & set(stated)) - sum(a + b != c for a, b, c in stated))


def line_count() -> LineCount:
    """Make a judge of pairs by rule: the rollout with the greater `step_quality` is better.

        p(a, b) = 1 if q_a > q_b, 1/2 if q_a = q_b, else 0

    Returns:
        A PairJudge. It reads the texts of rollouts of `explained_sums`, no answer and no tool result.

    Example:
        "4+7=11,11+3=14" against "11+3=14"  ->  1; against "4+7=11,11+3=14,5+5=10"  ->  1/2

    Paper: arXiv:2511.10899 (TIM), pairwise comparison of reasoning.
    Differs: a rule for sums; a language model compares in the paper.
    """
    return LineCount()


class LineCount:
    """See `line_count`."""

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P] probabilities that the first is better."""
        quality_P2 = np.array([[step_quality(a), step_quality(b)] for a, b in pairs], np.float64).reshape(-1, 2)
        return np.asarray(0.5 + np.sign(quality_P2[:, 0] - quality_P2[:, 1]) / 2)
