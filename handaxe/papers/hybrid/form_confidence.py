"""Confidence of a rule by the form of an answer: numbers in the answer and in the reference.

Idea: a rule compares numbers. It is sure of an answer with the numbers of the reference alone, less sure of an answer
with other numbers or with words after them, and knows nothing about a sentence.
"""

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import NUMBER, final_text
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["form_confidence", "unsure"]

NOT_LAST = 0.5
"""Factor of an answer that goes on after its last number."""


def form_confidence() -> Reward:
    """Compute the confidence of a rule for numbers.

        confidence_i = min(n_i, m) / max(n_i, m) * e_i
        n_i  numbers of the answer;  m  numbers of the reference, of the closest one if there are several
        e_i  1 if the answer ends with a number, else 0.5

    Returns:
        A reward with outcome [G] in [0, 1]. An answer without a number, no answer, or a reference without a number: 0.

    Raises:
        TaskError: the task has no answer.

    Example:
        reference "943": "943" -> 1;  "23 41 943" -> 1/3;  "943 apples" -> 0.5;  "many" -> 0
        reference "a small box at the top" -> 0 for any answer

    Paper: arXiv:2510.05283 (Beyond Monolithic Rewards), the confidence of the rule.
    Unconfirmed: the formula; only the abstract was available.
    Differs: nothing known.
    """
    return outcome(_confidence)


def unsure() -> Reward:
    """Mark answers with a confidence of the rule below 1.

        unsure_i = 1 if confidence_i < 1, else 0        confidence_i of `form_confidence`

    Returns:
        A reward with outcome [G], for a channel of weight 0.

    Raises:
        TaskError: the task has no answer.

    Example:
        reference "943": "943" -> 0;  "943 apples" -> 1

    Idea: a mixture by a confidence of 1 throughout is the rule alone.
    """
    return outcome(lambda one: float(_confidence(one) < 1.0))


def _confidence(trajectory: Trajectory) -> float:
    answer = final_text(trajectory)
    found = list(NUMBER.finditer(answer))
    if not found:
        return 0.0
    counts = [len(NUMBER.findall(gold)) for gold in gold_answers(trajectory.task)]
    share = max(min(len(found), m) / max(len(found), m) for m in counts)
    return share * (1.0 if found[-1].end() == len(answer) else NOT_LAST)
