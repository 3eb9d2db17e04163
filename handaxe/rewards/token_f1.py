"""Rewards an answer by the words shared with a reference answer."""

from collections import Counter
from collections.abc import Callable

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers, normalise

__all__ = ["token_f1"]


def token_f1(
    *,
    extract: Callable[[Trajectory], str] = final_text,
    whole: frozenset[str] = frozenset({"yes", "no", "noanswer"}),
) -> Reward:
    """Give the harmonic mean of word precision and recall against the best of the reference answers.

        shared = sum_w min(count_answer(w), count_gold(w))
        F1     = 2 * shared / (words_answer + words_gold)
        R_i    = max over golds of F1;   0 if one side is a word of `whole` and the two are not equal

    Words are those of the SQuAD-normalised texts (case, punctuation and articles dropped).

    Args:
        extract: the answer text of a trajectory.
        whole: answers that must match exactly; frozenset() for none.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or an empty answer: 0.

    Raises:
        TaskError: the task has no answer.

    Example:
        answer "paris"; final text "paris france"  ->  2 * 1 / (2 + 1) = 0.6667

    Paper: arXiv:1606.05250 (SQuAD), its F1 metric; `whole` as in arXiv:2505.16410 (Tool-Star).
    Differs: nothing.
    """

    def score(trajectory: Trajectory) -> float:
        answer = normalise(extract(trajectory))
        return max(_f1(answer, normalise(gold), whole) for gold in gold_answers(trajectory.task))

    return outcome(score)


def _f1(answer: str, gold: str, whole: frozenset[str]) -> float:
    if (answer in whole or gold in whole) and answer != gold:
        return 0.0
    words, wanted = answer.split(), gold.split()
    shared = sum((Counter(words) & Counter(wanted)).values())
    return 2 * shared / (len(words) + len(wanted)) if shared else 0.0
