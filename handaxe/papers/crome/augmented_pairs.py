"""Causal and neutral pairs of Crome from preference pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, PairJudge
from handaxe.core.records import Pair, Task
from handaxe.ops.change_digit import change_digit
from handaxe.ops.seeds import derive_seed
from handaxe.papers.crome.answer_rewrites import with_answer, with_number, with_question

__all__ = ["Augmented", "augment", "unsure_pairs"]


class Augmented(NamedTuple):
    """causal: pairs that differ in the number of the answer alone. neutral: ties, with strength 0."""

    causal: list[Pair]
    neutral: list[Pair]


def augment(pairs: Sequence[Pair], tasks: Sequence[Task], *, format: ChatFormat, seed: int = 0) -> Augmented:
    """Make the augmentations of preference pairs whose answers end in a number.

        causal    chosen > chosen with a digit of its number changed            degraded along one attribute
                  rejected with the correct number > rejected                   upgraded along one attribute
        neutral   chosen and rejected with the question of another task: a tie

    The attribute is the number of the answer; the rest of the text stays, whatever its style.

    Args:
        pairs: preferences; each gives two causal pairs and one neutral pair.
        tasks: with other questions.
        format: renders the conversations.
        seed: of changed digits and other questions.

    Returns:
        Both kinds, in the order of the pairs. A chosen answer without a digit has no degraded version. A changed number
        is never the correct one.

    Raises:
        InputError: there is no other question.

    Example:
        "12" over "Well, it is 15" to "3*4 ="  ->  "12" > "17", "Well, it is 12" > "Well, it is 15", and both tie at
        "200-1 ="

    Paper: arXiv:2506.16507 (Crome), causal augmentations and irrelevant-query neutrals.
    Differs: a rule rewrites the number, where the paper asks a language model for attributes and for rewrites.
    """
    causal, neutral = list[Pair](), list[Pair]()
    for pair in pairs:
        answer = str(pair.chosen.task.answer)
        others = [task for task in tasks if task.messages != pair.chosen.task.messages and str(task.answer) != answer]
        if not others:
            raise InputError("neutral pairs need a task with another question and another answer")
        own = derive_seed("augment", seed, pair.chosen.id, pair.rejected.id)
        degraded = change_digit(pair.chosen.final_text, seed=own)
        if degraded is not None:
            causal.append(Pair(pair.chosen, with_answer(pair.chosen, degraded, format=format)))
        upgraded = with_number(pair.rejected.final_text, answer)
        causal.append(Pair(with_answer(pair.rejected, upgraded, format=format), pair.rejected))
        other = others[own % len(others)]
        chosen = with_question(pair.chosen, other, format=format)
        neutral.append(Pair(chosen, with_question(pair.rejected, other, format=format), 0.0))
    return Augmented(causal, neutral)


def unsure_pairs(pairs: Sequence[Pair], judge: PairJudge, *, most: float = 0.8) -> list[Pair]:
    """Keep the pairs on which a baseline reward model is wrong or unsure.

        preferences: p <= most        ties: max(p, 1 - p) > 1 - most / 2        p = P(the chosen one is better)

    Args:
        pairs: preferences and ties.
        judge: the baseline.
        most: greatest probability of a pair that is kept, above 0.5 and below 1.

    Returns:
        Kept pairs, in order. A tie is kept if the baseline prefers a side with probability above 1 - most / 2.

    Raises:
        InputError: a number out of range.

    Example:
        most 0.8: preferences with p = 0.7 are kept and with 0.9 not; ties with p = 0.65 are kept and with 0.55 not

    Paper: arXiv:2506.16507 (Crome), filter by a baseline reward model.
    Unconfirmed: the threshold, and the filter of ties.
    Differs: nothing known.
    """
    if not 0.5 < most < 1:
        raise InputError(f"most is {most}; give a probability above 0.5 and below 1")
    if not pairs:
        return []
    chance_P = np.asarray(judge.compare([(pair.chosen, pair.rejected) for pair in pairs]))
    sure_P = np.maximum(chance_P, 1 - chance_P)
    return [
        pair
        for pair, chance, sure in zip(pairs, chance_P, sure_P, strict=True)
        if (chance <= most if pair.strength > 0 else sure > 1 - most / 2)
    ]
