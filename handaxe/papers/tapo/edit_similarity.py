"""Rewards an answer by how few letters it is from a reference answer."""

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
    """The text as TAPO compares it: lower case, one to twelve as digits, a whole number without thousands separators.

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
    """Give 1 to an answer that holds a reference answer, else a share that falls with its distance from one.

        ratio = d(said, gold) / max(|said|, |gold|)           d: insertions, deletions and substitutions of characters
        R_i   = max over golds of   1 if said contains gold;   1 - ratio if ratio < below;   0 otherwise

    Only the end of an answer is read, and no distance is taken to a gold of so different a length that the ratio cannot
    be small: the time is bounded, whatever was written.

    Args:
        extract: what the answer text is.
        normalise: applied to both sides before comparing.
        below: the ratio from which on nothing is earned, 0 to 1; 0.5 in the released code.
        most: characters of the answer that are read, the last ones, >= 1; 100 in the released code.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or an empty answer or gold: 0.

    Raises:
        InputError: rapidfuzz is not installed (extra [fuzzy]), or a number out of range.
        TaskError: the task has no answer.

    Example:
        gold "paris": "pariss" -> 1;  "pares" -> 0.8, one letter of five;  "london" -> 0

    Paper: arXiv:2510.07038 (TAPO), the score of questions about facts, from its released code.
    Unconfirmed: that this score reads the last 100 characters alone, and that it takes the words one to twelve for
    digits.
    Differs: nothing known.
    """
    if not 0 <= below <= 1 or most < 1:
        raise InputError(f"edit_similarity has below={below} and most={most}; give 0 to 1, and 1 or more")
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError as error:
        raise InputError("edit_similarity needs rapidfuzz: pip install handaxe[fuzzy]") from error

    def alike(said: str, gold: str) -> float:
        if not said or not gold:
            return 0.0
        if gold in said:
            return 1.0
        longest = max(len(said), len(gold))
        if abs(len(said) - len(gold)) >= below * longest:  # so many have to be put in or taken out at least
            return 0.0
        ratio = Levenshtein.distance(said, gold) / longest
        return 1 - ratio if ratio < below else 0.0

    def score(trajectory: Trajectory) -> float:
        said = normalise(extract(trajectory)[-most:])
        return max(alike(said, normalise(gold)) for gold in gold_answers(trajectory.task))

    return outcome(score)
