"""Flags of tasks that a model may have seen: package version against a cutoff, and overlap of code with a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from handaxe.core.errors import InputError

__all__ = ["known_version", "ngram_overlap", "ngrams"]

TOKEN = re.compile(r"\w+|[^\w\s]")


def ngrams(text: str, size: int) -> set[tuple[str, ...]]:
    """All sequences of `size` tokens of a code; a shorter code is one sequence, and an empty code has none.

    Example:
        ngrams("a + b", 2) is {("a", "+"), ("+", "b")}
    """
    if size < 1:
        raise InputError(f"n-grams have 1 token or more, not {size}")
    tokens = TOKEN.findall(text)
    if not tokens:
        return set()
    return {tuple(tokens[start : start + size]) for start in range(max(1, len(tokens) - size + 1))}


def ngram_overlap(text: str, corpus: Iterable[tuple[str, ...]], *, size: int = 8) -> float:
    """Compute the share of a code's n-grams that a corpus has.

        |ngrams(text) in corpus| / |ngrams(text)|, 0 for an empty code

    Args:
        text: code.
        corpus: n-grams of the same size, as from `ngrams`; a set is fast.
        size: tokens of an n-gram, 1 or more.

    Example:
        "a + b - c" and the 2-grams of "a + b" -> 2 / 4

    Idea: overlap of n-grams is the usual rule of decontamination where dates are unknown.
    """
    own = ngrams(text, size)
    return len(own & set(corpus)) / len(own) if own else 0.0


def known_version(package: str, version: str, cutoff: Mapping[str, str]) -> bool:
    """Decide whether a model may know a task: the package's version is not later than the cutoff.

    Args:
        package: of the task.
        version: numbers with dots, such as 1.10.0.
        cutoff: package -> latest version before the end of the model's training; a missing package is unknown.

    Raises:
        InputError: a version without a number.

    Example:
        cutoff {"toolz": "1.9.2"}: toolz 1.10.0 -> False, toolz 1.9.2 -> True, networkx 3.6 -> False

    Paper: arXiv:2505.20411 (SWE-rebench), tasks from before the release of a model are flagged.
    Differs: versions instead of dates, since installed packages have no date.
    """
    return package in cutoff and _numbers(version) <= _numbers(cutoff[package])


def _numbers(version: str) -> tuple[int, ...]:
    found = tuple(int(one) for one in re.findall(r"\d+", version))
    if not found:
        raise InputError(f"version {version!r} has no number: give one such as 1.2.0")
    return found
