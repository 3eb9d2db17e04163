"""Reward model of drawings that has learned from pairs of balanced length, with images and text-only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from handaxe.core.records import Task
from handaxe.judges.drawing_model import DrawingModel, drawing_model
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.judges.viewed import PreferredMessage
from handaxe.papers.ixc_reward.length_balanced import length_balanced
from handaxe.worlds.world import World

__all__ = ["balanced_model", "modality_pairs"]


def modality_pairs(tasks: Sequence[Task], *, most: float = 1.5, seed: int = 0) -> list[PreferredMessage]:
    """Make a pair of each task that is balanced in length: of images in the first half, else of words.

    Args:
        tasks: of `canvas`.
        most: see `length_balanced`; the length of an image is that of its objects in words.
        seed: of the errors.

    Returns:
        The kept pairs, those of images first.

    Example:
        a requested disc against a blank canvas is no pair of balanced length; a disc against a disc is one

    Paper: IXC-2.5-Reward, preference data of several modalities.
    """
    words = drawing_pairs(tasks, seed=seed, shown="words")
    half = len(words) // 2
    shown = [*drawing_pairs(tasks, seed=seed)[:half], *words[half:]]
    return length_balanced(words, shown=shown, most=most)


def balanced_model(*, world: World, labels: int = 960, most: float = 1.5, epochs: int = 2) -> DrawingModel:
    """Make a judge of drawings that is fitted on `modality_pairs` the first time that it scores.

    Args:
        world: the world `canvas`.
        labels: requests with a pair each, before the balance.
        most: see `length_balanced`.
        epochs: passes over the pairs.

    Returns:
        A judge: [G] scores of the last images of rollouts.

    Example:
        960 requests with `canvas --changes 0 --colours 2 --shapes 2`: 738 pairs, none with a blank canvas

    Paper: IXC-2.5-Reward, one reward model for images and text.
    Differs: a linear head on the last token; the mean over tokens is from memory.
    """
    return drawing_model(world=world, labels=labels, epochs=epochs, pairs=partial(modality_pairs, most=most))
