"""Tasks of a bench for judges: questions with labels, and controls by length or position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk
from handaxe.core.records import Criterion, Trajectory
from handaxe.judges.asked_check import check_question
from handaxe.judges.asked_pairs import pair_question

__all__ = ["BenchItem", "BenchQuestion", "answer_item", "control_chances", "labels_of", "pair_item"]


class BenchQuestion(NamedTuple):
    """A question with its label.

    ask      desk -> question, in the variant of the prompt for the model of the desk
    correct  the first label of the prompt is the right one
    lengths  characters of the judged text, or of both texts of a pair
    place    of a step in its rollout, from 0; -1 for an answer alone
    kind     of the error in the judged text; "" for none, or for a bench without kinds
    """

    ask: Callable[[AskDesk], Ask]
    correct: bool
    lengths: tuple[int, ...]
    place: int = -1
    kind: str = ""


class BenchItem(NamedTuple):
    """Questions about one task, the unit of intervals."""

    task: str
    questions: tuple[BenchQuestion, ...]


def answer_item(rollouts: Sequence[Trajectory], criterion: Criterion, *, correct: Sequence[bool] = ()) -> BenchItem:
    """Ask about each rollout of a task if the last turn meets a criterion.

    Args:
        rollouts: of one task.
        criterion: such as a correct answer.
        correct: labels of the rollouts; by default the first is correct, and the others are wrong.

    Example:
        three rollouts -> questions with the labels True, False, False
    """

    def question(one: Trajectory) -> Callable[[AskDesk], Ask]:
        return lambda desk: check_question(desk, "check", one, len(one.turns) - 1, criterion)

    labels = correct or [k == 0 for k in range(len(rollouts))]
    made = [
        BenchQuestion(question(one), bool(label), (len(one.final_text),))
        for one, label in zip(rollouts, labels, strict=True)
    ]
    return BenchItem(rollouts[0].task.id, tuple(made))


def pair_item(rollouts: Sequence[Trajectory]) -> BenchItem:
    """Ask for the better answer of the first and each further rollout of a task, in both orders.

    Example:
        texts "4", "5" and "" -> questions about ("4", "5"), ("5", "4"), ("4", "") and ("", "4")
    """
    own, others = rollouts[0], rollouts[1:]
    asked = [pair for one in others for pair in ((own, one), (one, own))]
    made = [
        BenchQuestion(_which(first, second), first is own, (len(first.final_text), len(second.final_text)), place=0)
        for first, second in asked
    ]
    return BenchItem(own.task.id, tuple(made))


def _which(first: Trajectory, second: Trajectory) -> Callable[[AskDesk], Ask]:
    return lambda desk: pair_question(desk, "which", first, second)


def labels_of(item: BenchItem) -> np.ndarray:
    """[N] bool labels of the questions of a task."""
    return np.array([one.correct for one in item.questions], bool)


def control_chances(items: Sequence[BenchItem]) -> dict[str, list[np.ndarray]]:
    """Probabilities of judges by length or position alone, blind to question and text.

        longer   mid-rank of the length among all questions, (rank - 1/2) / questions; of a pair: 1 for the longer text,
                 1/2 for equal lengths, else 0
        shorter  1 - longer
        first    earlier steps, and the first text of a pair; left out where questions have no place
        yes      1 for every question; left out for pairs, where it equals first

    Args:
        items: of a bench.

    Returns:
        Control -> [N] probabilities of each task.

    Example:
        lengths 3, 3 and 5  ->  longer 1/3, 1/3, 5/6
    """
    questions = [one for item in items for one in item.questions]
    longer_Q = _longer(questions)
    found = {"longer": longer_Q, "shorter": 1 - longer_Q}
    if questions and questions[0].place >= 0:
        place_Q = np.array([one.place for one in questions], np.float64)
        found["first"] = 1 - place_Q / (place_Q.max() + 1)
    if questions and len(questions[0].lengths) == 1:
        found["yes"] = np.ones(len(questions))
    cuts = np.cumsum([len(item.questions) for item in items])[:-1]
    return {name: np.split(chance_Q, cuts) for name, chance_Q in found.items()}


def _longer(questions: Sequence[BenchQuestion]) -> np.ndarray:
    if questions and len(questions[0].lengths) == 2:
        return np.array([0.5 + np.sign(one.lengths[0] - one.lengths[1]) / 2 for one in questions])
    ranks_Q = rankdata([one.lengths[0] for one in questions])
    return (ranks_Q - 0.5) / max(len(questions), 1)
