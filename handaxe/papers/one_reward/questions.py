"""Questions to one judge of pictures: task, criterion, and two pictures of one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.worlds.canvas.edits import ASPECTS, KINDS, EditedDrawing, edited_pairs

__all__ = ["PairQuestion", "TAG_SIZE", "draw_questions", "tag_row"]

KIND_NAMES = tuple(KINDS)
TAG_SIZE = len(KINDS) * len(ASPECTS)


class PairQuestion(NamedTuple):
    """Question: is the first picture better than the second by the criterion?

    criterion  of `ASPECTS`
    first      a picture
    second     another picture of the request
    yes        the annotator's answer
    """

    criterion: str
    first: EditedDrawing
    second: EditedDrawing
    yes: bool

    @property
    def kind(self) -> str:
        """Task: the kind of the request."""
        return self.first.request.kind


def draw_questions(
    count: int, *, seed: int, noise: float = 0.0, kinds: Sequence[str] | None = None
) -> list[PairQuestion]:
    """Draw questions about two pictures of different quality in the criterion.

    A question is about one criterion, in turn; in the others the second picture may be the better one.

    Args:
        count: of the questions.
        seed: of pictures and answers.
        noise: standard deviation of the annotator's error, >= 0.
        kinds: of requests; None for all.

    Raises:
        InputError: a negative noise.

    Example:
        criterion "clean", a clean picture that is not as requested against a dirty one that is  ->  yes

    Paper: OneReward (paper 59), annotations of several criteria in several tasks.
    Differs: qualities are known by construction.
    """
    if noise < 0:
        raise InputError(f"noise is {noise}; give a standard deviation from 0")
    rng, found = generator("one_reward questions", seed), list[PairQuestion]()
    batch = 0
    while len(found) < count:
        for first, second in edited_pairs(count, seed=seed + batch, kinds=kinds):
            criterion = ASPECTS[len(found) % len(ASPECTS)]
            difference = getattr(first, criterion) - getattr(second, criterion)
            if difference and len(found) < count:
                found.append(PairQuestion(criterion, first, second, difference + noise * rng.standard_normal() > 0))
        batch += 1
    return found


def tag_row(kind: str, criterion: str) -> np.ndarray:
    """[TAG_SIZE] 1 at the place of the pair of task and criterion, else 0.

    Raises:
        InputError: an unknown task or criterion.

    Example:
        the first task and the second criterion of three  ->  0, 1, 0, 0, ...
    """
    if kind not in KINDS or criterion not in ASPECTS:
        raise InputError(
            f"a question is about {', '.join(KINDS)} by {', '.join(ASPECTS)}, not {kind!r} by {criterion!r}"
        )
    found = np.zeros(TAG_SIZE)
    found[KIND_NAMES.index(kind) * len(ASPECTS) + ASPECTS.index(criterion)] = 1
    return found
