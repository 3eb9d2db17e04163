"""Reward models of drawings: a small model with vision and a head, fitted on pairs of requests and drawings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.heads import Head
from handaxe.core.protocols import Loss
from handaxe.core.records import Group
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.judges.reward_model import reward_model
from handaxe.judges.viewed import PreferredMessage, Viewed, label_messages, last_image, viewed
from handaxe.ops.once import once
from handaxe.selection.pairs.ordered import ordered
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["DrawingModel", "drawing_model", "fit_drawing_model", "message_scores", "pair_accuracy"]

LINEAR = Head()
RATE = 1e-3
PAIRS = 16
"""Pairs an optimizer step."""
SEED = 111
"""Of the requests that a model learns from."""
BLANK = 1.0
"""Distance of a rollout without an image to the lowest score of a sibling."""


def fit_drawing_model(
    pairs: Sequence[PreferredMessage],
    *,
    policy: loading.Policy | None = None,
    head: Head = LINEAR,
    loss: Loss | None = None,
    epochs: int = 1,
) -> Viewed:
    """Fit a new reward model on pairs of messages, by a Bradley-Terry loss.

    Args:
        pairs: such as `drawing_pairs`, of images, of words, or of both.
        policy: the backbone, which is not changed; None is the packaged `tiny_vision`.
        head: linear, or with hidden layers.
        loss: another loss on pairs.
        epochs: passes over the pairs.

    Returns:
        The judge of rollouts; `judge.judge` scores messages.

    Example:
        a red disc where "draw red disc at 2 4" asks for one scores above a blue one

    Idea: a multimodal reward model is a vision-language model with a head in place of the language head.
    """
    backbone = policy or loading.load("tiny_vision")
    engine = local.LocalEngine(backbone.model, betas=(0.9, 0.98)).twin(heads={"reward": head})
    scorer = reward_model(
        engine=engine, pairs=ordered(), loss=loss, learning_rate=RATE, batch_size=PAIRS, fit_epochs=epochs
    )
    judge = viewed(judge=scorer, format=backbone.format)
    judge.fit_messages(pairs)
    return judge


def message_scores(judge: Any, pairs: Sequence[PreferredMessage], format: Any) -> np.ndarray:
    """Score both messages of pairs.

    Args:
        judge: of rendered messages, such as `Viewed.judge` or an ensemble of these.
        pairs: P pairs.
        format: chat format of the judge's model.

    Returns:
        [P, 2], the better side first.

    Example:
        a reward model of new weights gives 0 to all
    """
    sides = [one for group, _ in label_messages(pairs, format) for one in group]
    score_N = judge.score(Group(sides[0].task, tuple(sides))) if sides else np.zeros(0)
    return np.asarray(score_N, np.float64).reshape(-1, 2)


def pair_accuracy(score_P2: np.ndarray) -> float:
    """Compute the share of pairs whose first side scores higher; equal scores count half.

    Example:
        (1, 0), (0, 2), (1, 1)  ->  0.5
    """
    return float((0.5 + np.sign(score_P2[:, 0] - score_P2[:, 1]) / 2).mean())


def drawing_model(
    *,
    world: World,
    labels: int = 640,
    epochs: int = 1,
    pairs: Callable[..., list[PreferredMessage]] = drawing_pairs,
) -> DrawingModel:
    """Make a judge of drawings, fitted on pairs of training requests the first time that it scores.

    The model is the packaged `tiny_vision` with a new head, for every policy. The input is a request and an image,
    without program and answer. Equal arguments give equal scores, so that the judge has no state. The model has seen no
    request without an image, so a rollout without one scores 1 below the lowest sibling, or below 0 if that is lower.

    Args:
        world: the world `canvas`, with any options.
        labels: requests with a pair each.
        epochs: passes over the pairs.
        pairs: (tasks) -> pairs.

    Returns:
        A judge: [G] scores of the last images of rollouts. It does not learn from rollouts.

    Example:
        a red disc where "draw red disc at 2 4" asks for one scores above a blue one

    Idea: a reward model that is fitted on given preferences before the policy is trained.
    """
    return DrawingModel(lambda: fit_drawing_model(pairs(world.tasks("train", labels, SEED)), epochs=epochs))


class DrawingModel:
    """See `drawing_model`."""

    def __init__(self, make: Callable[[], Viewed]):
        self._judge = once(make)

    def score(self, group: Group) -> np.ndarray:
        """[G] scores of the siblings; see `drawing_model` for one without an image."""
        score_G = np.array(self.fitted().score(group), np.float64)
        drawn_G = np.array([last_image(one) is not None for one in group], bool)
        return np.where(drawn_G, score_G, score_G[drawn_G].min(initial=0.0) - BLANK)

    def fitted(self) -> Viewed:
        """Return the judge, fitted if it was not."""
        return self._judge()
