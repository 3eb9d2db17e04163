"""Rewards an answer by word sequences shared with reference answers."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["bleu", "words_and_marks"]

TOKEN = re.compile(r"\w+|[^\w\s]")


def words_and_marks(text: str) -> list[str]:
    """Split a text into runs of letters and digits, and single punctuation marks.

    Example:
        "The cat, sat." -> ["The", "cat", ",", "sat", "."]
    """
    return TOKEN.findall(text)


def bleu(
    *,
    order: int = 4,
    smooth: bool = True,
    limit: bool = False,
    extract: Callable[[Trajectory], str] = final_text,
    words: Callable[[str], Sequence[str]] = words_and_marks,
) -> Reward:
    """Give the smoothed sentence BLEU of the answer against the task's reference answers.

        m_n  = sum over n-grams g of min(count_answer(g), max over references of count_reference(g))
        c_n  = max(0, |answer| - n + 1)                      n-grams of the answer
        p_n  = (m_n + 1) / (c_n + 1)                         with smooth, for every n; else m_n / c_n, 0 where c_n is 0
        BP   = min(1, exp(1 - |shortest reference| / |answer|))
        R_i  = BP * (p_1 * ... * p_N) ^ (1 / N)
        N    = order;   min(order, |shortest reference|) with limit

    Args:
        order: longest n-grams, >= 1; 4 in the paper.
        smooth: an order without n-grams counts 1, and a wrong answer of one word scores 0.84; without it, 0 and 1.
        limit: leave out n-grams longer than the shortest reference, so that an answer of one word can score 1 without
            smoothing.
        extract: the answer text of a trajectory.
        words: splits both sides.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or an empty answer: 0. Time is linear in the length of the answer.

    Raises:
        InputError: an order below 1. TaskError: the task has no answer, or an answer without a word.

    Example:
        answer "the cat sat", reference "the cat sat down": every p_n is 1, BP = exp(1 - 4/3)  ->  0.7165
        answer "paris", reference "paris"; smooth False: 0 at order 4; with limit, N = 1  ->  1

    Paper: arXiv:2505.11080 (BLEUBERI), its reward; with limit arXiv:2512.07478 (PRS), its length-aware BLEU.
    Unconfirmed: smoothing of every order, including the first; PRS's exact limit of the order.
    Differs: words are split at marks, where mteval leaves "3.5" whole.
    """
    if order < 1:
        raise InputError(f"bleu takes an order of at least 1, not {order}")

    def score(trajectory: Trajectory) -> float:
        answer = words(extract(trajectory))
        references = [words(gold) for gold in gold_answers(trajectory.task)]
        shortest = min(map(len, references))
        if not shortest:
            raise TaskError(f"task {trajectory.task.id!r} has a reference answer without a word; give it one")
        if not answer:
            return 0.0
        longest = min(order, shortest) if limit else order
        shares = [_precision(answer, references, n, smooth) for n in range(1, longest + 1)]
        if min(shares) <= 0:
            return 0.0
        brevity = min(1.0, math.exp(1 - shortest / len(answer)))
        return brevity * math.exp(sum(map(math.log, shares)) / longest)

    return outcome(score)


def _precision(answer: Sequence[str], references: Sequence[Sequence[str]], n: int, smooth: bool) -> float:
    wanted = Counter[tuple[str, ...]]()
    for one in references:
        wanted |= _grams(one, n)
    found = _grams(answer, n)
    matched, count = sum((found & wanted).values()), max(0, len(answer) - n + 1)
    if smooth:
        return (matched + 1) / (count + 1)
    return matched / count if count else 0.0


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[k : k + n]) for k in range(len(words) - n + 1))
