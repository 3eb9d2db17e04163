"""Prompts with pictures of known worth to a community.

Legend: P pictures of one prompt, F features of a picture, R features of a prompt, N triplets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.ops.seeds import generator
from handaxe.worlds.canvas.drawing import COLOURS
from handaxe.worlds.canvas.edit_features import palette_shares
from handaxe.worlds.canvas.edits import edit_drawing, edit_requests

__all__ = ["PromptedPictures", "Triplets", "prompted_pictures", "triplets", "worth_agreement"]

FIT = 0.6
"""Weight of the requested colour in the worth of a picture; the rest is cleanness."""


class PromptedPictures(NamedTuple):
    """A prompt and its pictures.

    text_R      1 at the requested colour, else 0
    picture_PF  shares of colours in each picture
    worth_P     worth of each picture to the community, 0 to 1
    """

    text_R: np.ndarray
    picture_PF: np.ndarray
    worth_P: np.ndarray


class Triplets(NamedTuple):
    """Features of the prompt, of the better and of the worse picture."""

    text_NR: np.ndarray
    better_NF: np.ndarray
    worse_NF: np.ndarray


def prompted_pictures(count: int, *, pictures: int, seed: int) -> list[PromptedPictures]:
    """Draw prompts for an object of a colour, whose place is not part of the prompt, and pictures of each.

        worth = 0.6 [drawn as requested] + 0.4 cleanness

    Args:
        count: of prompts.
        pictures: P.
        seed: of requests and pictures.

    Example:
        a picture with the requested object and half of the dirt  ->  worth 0.8

    Paper: Social Reward (paper 85), several generated pictures of a prompt.
    Differs: drawings with a known worth.
    """
    rng = generator("social_reward pictures", seed)
    found = list[PromptedPictures]()
    for request in edit_requests(count, seed=seed, kinds=("add",)):
        made = [edit_drawing(request, rng) for _ in range(pictures)]
        worth = [FIT * float(one.followed == 1) + (1 - FIT) * one.clean for one in made]
        shares = [palette_shares(one.image.pixels) for one in made]
        text = [float(request.colour == name) for name in COLOURS]
        found.append(PromptedPictures(np.array(text), np.array(shares), np.array(worth)))
    return found


def triplets(given: Sequence[PromptedPictures], pairs: Sequence[Sequence[tuple[int, int]]]) -> Triplets:
    """Collect the triplets of all prompts.

    Args:
        given: prompts.
        pairs: for each prompt, (better, worse) numbers of its pictures.

    Example:
        one prompt and the pairs (2, 0) and (2, 1)  ->  two rows, the better one is picture 2 in both

    Idea: a triplet of prompt, better and worse picture.
    """
    rows = [(one, p, q) for one, own in zip(given, pairs, strict=True) for p, q in own]
    return Triplets(
        np.array([one.text_R for one, _, _ in rows]),
        np.array([one.picture_PF[p] for one, p, _ in rows]),
        np.array([one.picture_PF[q] for one, _, q in rows]),
    )


def worth_agreement(given: Sequence[PromptedPictures], pairs: Sequence[Sequence[tuple[int, int]]]) -> float:
    """Compute the share of pairs of unequal worth whose better picture is worth more.

    Example:
        worth 0.2, 0.6 and 0.6, pairs (1, 0), (0, 2) and (1, 2)  ->  1/2

    Idea: how well a signal of re-use orders pictures.
    """
    gaps = [one.worth_P[p] - one.worth_P[q] for one, own in zip(given, pairs, strict=True) for p, q in own]
    return float(np.mean([gap > 0 for gap in gaps if gap]))
