"""Verifier of drawings: a small model with vision that has learned from pairs with a known order."""

from __future__ import annotations

import numpy as np

from handaxe.core.records import Group, Trajectory
from handaxe.judges.drawing_model import DrawingModel, drawing_model
from handaxe.judges.viewed import Viewed
from handaxe.worlds.world import World

__all__ = ["DrawingVerifier", "drawing_verifier", "repeats_image"]

IDLE = 1.0
"""Loss of a turn without progress."""


def drawing_verifier(*, world: World, labels: int = 1280) -> DrawingVerifier:
    """Make a judge of drawings, fitted on pairs of training requests the first time that it scores.

    The model is the packaged `tiny_vision` with a new head, for every policy. The input is a request and an image,
    without program and answer. A last turn whose drawing equals the one before made no progress, and loses 1. Equal
    arguments give equal scores.

    Args:
        world: the world `canvas`, with any options.
        labels: pairs, each used once.

    Returns:
        A judge: [G] scores of the last images of rollouts. It does not learn from rollouts.

    Example:
        a red disc where "draw red disc at 2 4" asks for one scores above a blue one

    Idea: a verifier without gold answers of the tasks at hand, in place of SPORT's language model (arXiv:2504.21561).
    """
    return DrawingVerifier(drawing_model(world=world, labels=labels))


class DrawingVerifier:
    """See `drawing_verifier`."""

    def __init__(self, model: DrawingModel):
        self._model = model

    def score(self, group: Group) -> np.ndarray:
        """[G] scores of the siblings."""
        idle_G = np.array([repeats_image(one) for one in group], np.float64)
        return self.fitted().score(group) - IDLE * idle_G

    def fitted(self) -> Viewed:
        """Return the judge, fitted if it was not."""
        return self._model.fitted()


def repeats_image(trajectory: Trajectory) -> bool:
    """Return True if the last turn shows an image that equals the image before.

    Example:
        the same drawing in the replies of the last two turns -> True; an end after them -> False
    """
    last = [image for reply in trajectory.turns[-1].replies for image in reply.images] if trajectory.turns else []
    shown = [image for reply in trajectory.replies for image in reply.images]
    return bool(last) and len(shown) > 1 and shown[-1] == shown[-2]
