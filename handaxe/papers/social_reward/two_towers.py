"""Encoders of prompts and of pictures, fitted by a triplet loss.

Legend: N triplets, F features of a picture, R features of a prompt, D width of the embeddings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.judges.small_net import SmallNet, minimise

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["TwoTowers", "triplet_loss"]

MARGIN = 0.3
WIDTH = 8


def triplet_loss(text_ND: Tensor, better_ND: Tensor, worse_ND: Tensor, *, margin: float = MARGIN) -> Tensor:
    """Pull the better picture closer to the prompt than the worse picture, by a margin.

        L = mean over triplets of max(0, |t - i_w|^2 - |t - i_l|^2 + margin)

    Args:
        text_ND: t, embeddings of the prompts.
        better_ND: i_w.
        worse_ND: i_l.
        margin: > 0; 0.3 in the released code.

    Returns:
        Scalar, differentiable.

    Raises:
        InputError: a margin of 0 or less.

    Example:
        squared distances 0.5 and 0.6, margin 0.3  ->  0.2

    Paper: Social Reward (paper 85), its triplet loss.
    Differs: nothing.
    """
    if not margin > 0:
        raise InputError(f"margin is {margin}; give more than 0")
    near_N = ((text_ND - better_ND) ** 2).sum(1)
    far_N = ((text_ND - worse_ND) ** 2).sum(1)
    return (near_N - far_N + margin).clamp(min=0).mean()


class TwoTowers:
    """Similarity of a prompt and a picture.

        score = t . i        t, i: embeddings of length 1

    Without `prompt`, every prompt has the same features, so that the score is one of the picture alone.

    Args:
        picture: F.
        text: R.
        prompt: False for a score of the picture alone.
        seed: of the weights.

    Example:
        TwoTowers(8, 6).scores(text_NR, picture_NF)  ->  [N], -1 to 1

    Paper: Social Reward (paper 85), a CLIP model fine-tuned on re-use.
    Differs: two small networks on shares of colours and on a colour's name, from random weights.
    """

    def __init__(self, picture: int, text: int, *, prompt: bool = True, seed: int = 0):
        self._picture = SmallNet(picture, WIDTH, seed=2 * seed)
        self._text = SmallNet(text, WIDTH, seed=2 * seed + 1)
        self._prompt = prompt

    def fit(self, text_NR: np.ndarray, better_NF: np.ndarray, worse_NF: np.ndarray, *, steps: int) -> float:
        """Fit both encoders on triplets; returns the loss before the last step."""
        self._picture.scale(np.concatenate([better_NF, worse_NF]))

        def loss() -> Tensor:
            pictures = [_unit(self._picture(own)) for own in (better_NF, worse_NF)]
            return triplet_loss(self._embedded(text_NR), *pictures)

        return minimise(loss, self._picture, self._text, steps=steps)

    def scores(self, text_NR: np.ndarray, picture_NF: np.ndarray) -> np.ndarray:
        """[N] similarities."""
        with torch.no_grad():
            found: np.ndarray = (self._embedded(text_NR) * _unit(self._picture(picture_NF))).sum(1).numpy()
        return found

    def _embedded(self, text_NR: np.ndarray) -> Tensor:
        read_NR = text_NR if self._prompt else np.ones_like(text_NR)
        return _unit(self._text(read_NR))


def _unit(x_ND: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x_ND, dim=1)
