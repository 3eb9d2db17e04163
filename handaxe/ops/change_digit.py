"""Changes a digit of a text."""

import random

__all__ = ["change_digit"]


def change_digit(text: str, *, seed: int) -> str | None:
    """The text with one digit replaced by another; None for a text without digits.

    Example:
        change_digit("42", seed=0) in ("02", "12", ..., "49")

    Idea: a wrong answer of the form of a correct one.
    """
    places = [i for i, character in enumerate(text) if character in "0123456789"]
    if not places:
        return None
    rng = random.Random(seed)
    place = rng.choice(places)
    other = rng.choice([digit for digit in "0123456789" if digit != text[place]])
    return text[:place] + other + text[place + 1 :]
