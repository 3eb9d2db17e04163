"""Distractor tools, drawn from bands of similarity to the needed tools."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence

from handaxe.core.errors import InputError

__all__ = ["draw_distractors", "trigram_similarity"]

HIGH = 0.85
LOW = 0.4


def trigram_similarity(left: str, right: str) -> float:
    """Compute the cosine of the counts of character trigrams of two texts.

        cos = sum_t a_t b_t / sqrt(sum_t a_t^2 sum_t b_t^2)

    Returns:
        0 to 1; 0 if a text has fewer than three characters.

    Example:
        "abcd" (abc, bcd) and "abce" (abc, bce) -> 1 / 2

    Idea: an embedding without a model.
    """
    a, b = (Counter(text[k : k + 3] for k in range(len(text) - 2)) for text in (left.lower(), right.lower()))
    norms = sum(n * n for n in a.values()) * sum(n * n for n in b.values())
    return sum(n * b[t] for t, n in a.items()) / math.sqrt(norms) if norms else 0.0


def draw_distractors(
    needed: Sequence[str],
    documents: Mapping[str, str],
    rng: random.Random,
    *,
    counts: tuple[int, int, int] = (1, 1, 1),
    low: float = LOW,
    high: float = HIGH,
) -> list[str]:
    """Draw tools that a task does not need, from three bands of similarity.

        s(tool) = max over needed tools of the similarity of their documents
        high: s > high     middle: low <= s <= high     low: s < low

    Args:
        needed: names of needed tools.
        documents: name -> text, of needed and other tools.
        rng: of the draw.
        counts: tools of the high, the middle and the low band; fewer where a band has fewer.
        low, high: 0.4 and 0.85 in the paper.

    Returns:
        Names in the order of the bands.

    Raises:
        InputError: a needed tool has no document, or low is above high.

    Example:
        needed "boss"; "boss_old" has 0.9, "aunt" 0.7 and "clock" 0.1 -> one of each band: all three

    Paper: arXiv:2601.21558 (ASTRA), irrelevant tools in training.
    Unconfirmed: bands and thresholds are from summaries of the paper.
    Differs: counts of trigrams are the embedding.
    """
    if missing := sorted(set(needed) - set(documents)):
        raise InputError(f"tools {', '.join(missing)} have no document")
    if low > high:
        raise InputError(f"low is {low} and high {high}; give low <= high")
    bands: tuple[list[str], list[str], list[str]] = ([], [], [])
    for name in sorted(set(documents) - set(needed)):
        score = max((trigram_similarity(documents[one], documents[name]) for one in needed), default=0.0)
        bands[0 if score > high else 1 if score >= low else 2].append(name)
    return [one for band, count in zip(bands, counts, strict=True) for one in rng.sample(band, min(count, len(band)))]
