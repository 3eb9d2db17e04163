"""Whether a text holds a phrase as whole words, for rewards that look an answer up in queries and replies.

Example:
    words_of("Is it the Lyon/Paris line?") -> "is it lyon paris line"
    holds("is it lyon paris line", "lyon paris") -> True;  holds("the nicest", "nice") -> False
"""

import re

__all__ = ["holds", "words_of"]

ARTICLES = frozenset({"a", "an", "the"})


def words_of(text: str) -> str:
    """The words of a text with one blank between: punctuation parts words, as it would not if it were left out."""
    return " ".join(word for word in re.findall(r"[^\W_]+", text.lower()) if word not in ARTICLES)


def holds(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase, both as `words_of` gives them; an empty phrase is held by nothing."""
    return bool(phrase) and f" {phrase} " in f" {text} "
