"""Credit scaled by the self-consistency of a task's pseudo-label (ADPO)."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores, Task
from handaxe.ops.ragged import scale_tokens
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["score_scaled", "task_score"]


def task_score(task: Task) -> float:
    """Read the metadata "score" of a task, the share of agreeing answers.

    Raises:
        InputError: the task has none.
    """
    if "score" not in task.metadata:
        raise InputError(
            f"task {task.id!r} has no score in its metadata, the share of answers that agreed: let the stage "
            "`frontier` make the tasks, or give score_scaled a score="
        )
    return float(task.metadata["score"])


def score_scaled(
    *,
    credit: Credit,
    least: float = 0.6,
    low: float = 0.3,
    high: float = 0.8,
    score: Callable[[Task], float] = task_score,
) -> Credit:
    """Scale advantages by a task's self-consistency, and widen the upper clip where it is low.

        A'_t = s A_t              s = least + (1 - least) clip((p - low) / (high - low), 0, 1)
        room_t = clip((high - p) / (high - low), 0, 1)           on the policy's tokens

    p is the score: the share of earlier answers that equal the pseudo-label. `losses.adjustments.widened_clip`
    computes the upper bound of the ratio from the channel `room`: a task with less agreement gets smaller advantages,
    and its rare tokens may rise further.

    Args:
        credit: computes the advantages; its value targets stay as they are.
        least: m0, s at the lower end, 0 to 1; 0.6 in the paper's runs, 0.5 by default in the released code.
        low, high: bounds of p for tasks of the pool; 0.3 and 0.8.
        score: p of a task, from 0 to 1.

    Returns:
        A credit with the channel "room". Its state is that of `credit`. Unscored siblings have room 0.

    Raises:
        InputError: `least` out of range, or low not below high; when called: a task without score.

    Example:
        least 0.6: p 0.3, 0.5, 0.8  ->  s 0.6, 0.76, 1 and room 1, 0.6, 0
        rewards 1, 1, 0, 0 under group_norm(), p 0.5  ->  0.658, 0.658, -0.658, -0.658

    Paper: arXiv:2511.16043 (Agent0), ADPO: the ambiguity-scaled advantage.
    Differs: nothing.
    """
    if not 0 <= least <= 1 or low >= high:
        raise InputError(f"score_scaled takes least from 0 to 1 and low below high, not {least}, {low} and {high}")
    return _Scaled(credit, least, low, high, score)


class _Scaled(StatefulComposite):
    def __init__(self, credit: Credit, least: float, low: float, high: float, score: Callable[[Task], float]):
        self._credit = credit
        self._least = least
        self._low = low
        self._high = high
        self._score = score

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        advantages = self._credit(group, scores)
        above = float(np.clip((self._score(group.task) - self._low) / (self._high - self._low), 0, 1))
        scale = self._least + (1 - self._least) * above
        room_G = np.where(np.isnan(np.asarray(scores.outcome, np.float64)), 0.0, 1 - above)
        room = tuple(
            tuple(value * sequence.mask for sequence in one.sequences) for value, one in zip(room_G, group, strict=True)
        )
        return replace(
            advantages, tokens=scale_tokens(advantages.tokens, scale), channels={**advantages.channels, "room": room}
        )

    def parts(self) -> Mapping[str, object]:
        return {"credit": self._credit}
