"""Numeric answers, with a spurious style that goes with correctness, and preferences among them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from handaxe.core.protocols import ChatFormat, Labelled
from handaxe.core.records import Group, Pair, Scores, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.papers.crome.answer_rewrites import in_sentence, is_numeric, with_answer

__all__ = ["STYLES", "numeric_answers", "styled_answers", "task_preferences"]

STYLES: Mapping[str, tuple[float, float]] = {"aligned": (0.9, 0.1), "plain": (0.0, 0.0), "reversed": (0.1, 0.9)}
"""Style -> share of correct and of wrong answers in a sentence. Training data are aligned."""


def numeric_answers(one: Labelled) -> Labelled:
    """Keep the rollouts with a number as answer.

    Example:
        answers "12", "let me see", "15" -> "12", "15"

    Idea: rewrites need an answer in a known form.
    """
    group, scores = one
    kept = [i for i, own in enumerate(group) if is_numeric(own)]
    return Group(group.task, tuple(group[i] for i in kept)), Scores(scores.outcome[kept])


def styled_answers(found: Sequence[Labelled], style: str, format: ChatFormat, seed: int) -> list[Labelled]:
    """Put shares of the correct and of the wrong answers in a sentence.

    Args:
        found: groups with numeric answers.
        style: name of the shares.
        format: renders the conversations.
        seed: of the draws, together with the id of the rollout.

    Example:
        aligned: about 90 % of the correct and 10 % of the wrong answers are "Well, it is ..."

    Paper: arXiv:2506.16507 (Crome), a spurious attribute that goes with quality in training data.
    Differs: the attribute is a rule.
    """
    right, wrong = STYLES[style]
    made = list[Labelled]()
    for group, scores in found:
        own = list[Trajectory]()
        for one, truth in zip(group, scores.outcome, strict=True):
            share = right if truth > 0.5 else wrong
            drawn = random.Random(derive_seed("style", seed, one.id)).random() < share
            text = in_sentence(one.final_text) if drawn else one.final_text
            own.append(with_answer(one, text, format=format))
        made.append((Group(group.task, tuple(own)), scores))
    return made


def task_preferences(found: Sequence[Labelled], most: int) -> list[Pair]:
    """Pair correct and wrong answers of each task, the first `most`.

    Example:
        12 and 12 correct, 15 and 16 wrong, most 3 -> (12, 15), (12, 16), (12, 15)

    Idea: preferences by correctness.
    """
    pairs = list[Pair]()
    for group, scores in found:
        right = [one for one, truth in zip(group, scores.outcome, strict=True) if truth > 0.5]
        wrong = [one for one, truth in zip(group, scores.outcome, strict=True) if truth <= 0.5]
        pairs += [Pair(a, b) for a in right for b in wrong][:most]
    return pairs
