"""Verifier of drawings: a small model with vision that has learned from pairs with a known order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.heads import Head
from handaxe.core.records import Group, Task, Trajectory
from handaxe.judges.reward_model import reward_model
from handaxe.judges.viewed import Viewed, viewed
from handaxe.models.load import load
from handaxe.papers.sport.drawing_pairs import drawing_pairs
from handaxe.selection.pairs.ordered import ordered
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["DrawingVerifier", "drawing_verifier", "fit_verifier", "repeats_image"]

RATE = 1e-3
IDLE = 1.0
"""Loss of a turn without progress."""
PAIRS = 16
"""Pairs an optimizer step."""
SEED = 111
"""Of the requests that the verifier learns from."""
FITTING = threading.Lock()
"""Serializes the fit, for rollouts that score at the same time."""


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
    return DrawingVerifier(world, labels)


class DrawingVerifier:
    """See `drawing_verifier`."""

    def __init__(self, world: World, labels: int):
        self._make = partial(_fitted, world, labels)
        self._judge: Viewed | None = None

    def score(self, group: Group) -> np.ndarray:
        """[G] scores of the siblings."""
        idle_G = np.array([repeats_image(one) for one in group], np.float64)
        return self.fitted().score(group) - IDLE * idle_G

    def fitted(self) -> Viewed:
        """Return the judge, fitted if it was not."""
        with FITTING:
            self._judge = self._judge or self._make()
        return self._judge


def repeats_image(trajectory: Trajectory) -> bool:
    """Return True if the last turn shows an image that equals the image before.

    Example:
        the same drawing in the replies of the last two turns -> True; an end after them -> False
    """
    last = [image for reply in trajectory.turns[-1].replies for image in reply.images] if trajectory.turns else []
    shown = [image for reply in trajectory.replies for image in reply.images]
    return bool(last) and len(shown) > 1 and shown[-1] == shown[-2]


def fit_verifier(tasks: Sequence[Task], *, seed: int = 0) -> Viewed:
    """Fit a new judge on one pair of each task, by a Bradley-Terry loss."""
    policy = load("tiny_vision")
    engine = local.LocalEngine(policy.model, heads={"reward": Head()}, betas=(0.9, 0.98))
    scorer = reward_model(engine=engine, pairs=ordered(), learning_rate=RATE, batch_size=PAIRS)
    judge = viewed(judge=scorer, format=policy.format)
    judge.fit_messages(drawing_pairs(tasks, seed=seed))
    return judge


def _fitted(world: World, labels: int) -> Viewed:
    return fit_verifier(world.tasks("train", labels, SEED))
