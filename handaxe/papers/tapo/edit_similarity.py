"""Reward by the edit distance to a reference answer."""

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["edit_similarity", "in_digits"]

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
DIGITS = {word: str(number) for number, word in enumerate(WORDS, start=1)}


def in_digits(text: str) -> str:
    """Normalize text as TAPO does: lower case, one to twelve as digits, integers without thousands separators.

    Example:
        " Twelve " -> "12", "1,024" -> "1024", "New York" -> "new york"
    """
    plain = text.strip().lower()
    plain = DIGITS.get(plain, plain)
    bare = plain.replace(",", "")
    return bare if bare.isdigit() else plain


def edit_similarity(
    *,
    extract: Callable[[Trajectory], str] = final_text,
    normalise: Callable[[str], str] = in_digits,
    below: float = 0.5,
    most: int = 100,
) -> Reward:
    """Score an answer by containment of a reference answer, else by edit similarity.

        ratio = d(answer, gold) / max(|answer|, |gold|)       d: insertions, deletions and substitutions of characters
        R_i   = max over golds of   1 if answer contains gold;   1 - ratio if ratio < below;   0 otherwise

    Only the end of an answer is read, and no distance is computed for lengths that make the ratio too large: the time
    is bounded for any text.

    Args:
        extract: trajectory -> answer text.
        normalise: applied to both sides.
        below: bound of the ratio, 0 to 1; 0.5 in the released code.
        most: number of last characters of the answer that are read, >= 1; 100 in the released code.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or an empty answer or gold: 0.

    Raises:
        InputError: rapidfuzz is not installed (extra [fuzzy]), or a number out of range.
        TaskError: the task has no answer.

    Example:
        gold "paris": "pariss" -> 1;  "pares" -> 0.8, one letter of five;  "london" -> 0

    Paper: arXiv:2510.07038 (TAPO), the score of questions about facts, from its released code.
    Unconfirmed: that this score reads the last 100 characters alone, and converts the words one to twelve to digits.
    Differs: nothing known.
    """
    if not 0 <= below <= 1 or most < 1:
        raise InputError(f"edit_similarity has below={below} and most={most}; give 0 to 1, and 1 or more")
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError as error:
        raise InputError("edit_similarity needs rapidfuzz: pip install handaxe[fuzzy]") from error

    def similarity(answer: str, gold: str) -> float:
        if not answer or not gold:
            return 0.0
        if gold in answer:
            return 1.0
        longest = max(len(answer), len(gold))
        if abs(len(answer) - len(gold)) >= below * longest:  # so many have to be put in or taken out at least
            return 0.0
        ratio = Levenshtein.distance(answer, gold) / longest
        return 1 - ratio if ratio < below else 0.0

    def score(trajectory: Trajectory) -> float:
        answer = normalise(extract(trajectory)[-most:])
        return max(similarity(answer, normalise(gold)) for gold in gold_answers(trajectory.task))

    return outcome(score)
