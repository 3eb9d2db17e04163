"""Step: drops repeated tasks."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_text

__all__ = ["dedupe", "minhash", "normal_words"]

PRIME = 2**31 - 1
SHINGLE = 3
"""Words of a shingle."""


def dedupe(*, similarity: float = 0.9, hashes: int = 64, bands: int = 8) -> SynthesisStep:
    """Make the step "dedupe": keeps the first of equal and of similar tasks, over all rounds.

        equal     the same words, without case and signs
        similar   estimated Jaccard similarity of the sets of three-word shingles >= similarity
                  J = |A and B| / |A or B|, estimated by the share of equal minima under `hashes` hash functions

    Candidates are tasks with an equal band of hashes / bands minima. Texts with fewer than four words are compared for
    equality alone.

    Args:
        similarity: from which tasks count as repeated, above 0; 1 drops equal sets of shingles alone, and above 1 only
            equal words.
        hashes, bands: of MinHash; bands divides hashes.

    Returns:
        A step that keeps drafts of kind "task".

    Raises:
        InputError: an argument out of range.

    Example:
        "What is 3+4?" and "what is  3 + 4" are equal; "4071 boss?" and "4071 ally?" are not

    Idea: Broder's MinHash with banding.
    """
    if similarity <= 0 or hashes < 1 or bands < 1 or hashes % bands:
        raise InputError(
            f"similarity {similarity}, hashes {hashes}, bands {bands}: give above 0, and bands of equal size"
        )

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        known = _Known(similarity, hashes, bands)
        for one in at.earlier:
            known.reason(draft_text(one))
        reasons = [known.reason(draft_text(one)) for one in drafts]
        return [dropped(reason) if reason else kept(one) for one, reason in zip(drafts, reasons, strict=True)]

    return SynthesisStep(
        "dedupe", run, settings={"similarity": similarity, "hashes": hashes, "bands": bands}, whole=True
    )


def normal_words(text: str) -> list[str]:
    """Split a text into words and signs without case: letters and digits, and each operator.

    Example:
        normal_words("What is 3+4?") -> ["what", "is", "3", "+", "4"]
    """
    return re.findall(r"\w+|[-+*/%^<>=]", text.lower())


def minhash(words: Sequence[str], hashes: int) -> np.ndarray:
    """Compute the minima of hash functions over the shingles of a text.

        minimum_h = min over shingles s of (a_h x_s + b_h) mod (2^31 - 1), x_s = CRC-32 of s

    Args:
        words: of the text, 3 or more.
        hashes: number of functions.

    Returns:
        [hashes] int64.

    Example:
        equal words -> equal minima; disjoint shingles -> mostly different minima
    """
    rng = np.random.default_rng(0)
    scale_H, shift_H = rng.integers(1, PRIME, hashes), rng.integers(0, PRIME, hashes)
    shingles = {" ".join(words[k : k + SHINGLE]) for k in range(len(words) - SHINGLE + 1)}
    x_S = np.array(sorted(zlib.crc32(one.encode()) % PRIME for one in shingles), np.int64)
    minima: np.ndarray = ((scale_H[:, None] * x_S[None, :] + shift_H[:, None]) % PRIME).min(1)
    return minima


class _Known:
    """Texts so far."""

    def __init__(self, similarity: float, hashes: int, bands: int):
        self._similarity = similarity
        self._hashes, self._bands = hashes, bands
        self._texts = set[tuple[str, ...]]()
        self._minima = list[np.ndarray]()
        self._places: dict[tuple[int, bytes], list[int]] = defaultdict(list)

    def reason(self, text: str) -> str:
        """Reason for dropping a text; "" for a new text, which is known from then on."""
        words = normal_words(text)
        if tuple(words) in self._texts:
            return "repeated"
        if len(words) > SHINGLE:
            minima = minhash(words, self._hashes)
            keys = [(k, part.tobytes()) for k, part in enumerate(np.split(minima, self._bands))]
            near = {place for key in keys for place in self._places[key]}
            if any((self._minima[place] == minima).mean() >= self._similarity for place in near):
                return "similar"
            for key in keys:
                self._places[key].append(len(self._minima))
            self._minima.append(minima)
        self._texts.add(tuple(words))
        return ""
