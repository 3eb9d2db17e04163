"""Reward model with a head for each quality, on the picture alone or on picture and request.

Legend: P pairs, A qualities, F features of a picture, R features of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.judges.small_net import SmallNet, minimise
from handaxe.losses.parts.tie_nll import tie_nll

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["AttributeReward", "LOSSES", "Link", "pair_loss"]

Link = Literal["ties", "dropped", "regression"]
K = 5.0
"""Of Rao and Kupper's model; the paper's."""


def _dropped(score_P2: Tensor, label_P: Tensor, rating_P2: Tensor) -> Tensor:
    del rating_P2
    margin_P = label_P * (score_P2[:, 0] - score_P2[:, 1])
    return label_P.abs() * torch.nn.functional.softplus(-margin_P)


def _ties(score_P2: Tensor, label_P: Tensor, rating_P2: Tensor) -> Tensor:
    del rating_P2
    strict_P = label_P.abs()
    side_P = torch.where(strict_P > 0, label_P, torch.ones_like(label_P))
    return tie_nll(side_P * (score_P2[:, 0] - score_P2[:, 1]), strict_P, k=K)


def _regression(score_P2: Tensor, label_P: Tensor, rating_P2: Tensor) -> Tensor:
    del label_P
    return ((score_P2 - (rating_P2 - 3)) ** 2).mean(1)


LOSSES: Mapping[Link, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "ties": _ties,
    "dropped": _dropped,
    "regression": _regression,
}
"""Link -> (scores, labels, ratings) -> [P]."""


def pair_loss(link: Link, score_P2: Tensor, label_P: Tensor, rating_P2: Tensor) -> Tensor:
    """Compute the loss of pairs in one quality.

        ties        Bradley-Terry with ties, k = 5
        dropped     softplus(-D) for a winner, 0 for a tie
        regression  mean over both sides of (score - (rating - 3))^2

    Args:
        link: one of the three.
        score_P2: scores of both sides.
        label_P: 1, -1 or 0.
        rating_P2: 1 to 5.

    Returns:
        The mean over P.

    Raises:
        InputError: another word.

    Example:
        scores 1 and 0, labels 1 and 0: ties 1.04359 and 0.54597, dropped 0.31326 and 0

    Paper: arXiv:2501.13918 (VideoReward), its comparison of regression, Bradley-Terry and Bradley-Terry with ties.
    Differs: nothing known.
    """
    if link not in LOSSES:
        raise InputError(f"link is one of {', '.join(LOSSES)}, not {link!r}")
    return LOSSES[link](score_P2, label_P, rating_P2).mean()


class AttributeReward:
    """Score of each quality, from a separate state.

        s_a = w_a . tanh(W_a x_a + b_a)      x_a = features of the picture, and of the request if a needs it

    A quality of the picture alone has a state from before the request, as a token between video and prompt has in a
    causal model, and cannot depend on the request. With `separate` False one state of picture and request has
    a score for each quality.

    Args:
        picture: F, features of a picture.
        request: R, features of a request.
        needs: for each quality, True if its score reads the request.
        separate: False for one state.
        seed: of the weights.

    Example:
        AttributeReward(16, 22, needs=(True, False, False)).scores(features) -> [N, 3]

    Paper: arXiv:2501.13918 (VideoReward), separate tokens for context-agnostic and context-aware attributes.
    Differs: small networks on features in place of tokens of a vision-language model.
    Unconfirmed: that the score of an attribute is one output of a head with an output for each attribute.
    """

    def __init__(self, picture: int, request: int, *, needs: Sequence[bool], separate: bool = True, seed: int = 0):
        whole = picture + request
        widths = [whole if need else picture for need in needs] if separate else [whole]
        outputs = 1 if separate else len(needs)
        self.nets = [SmallNet(width, outputs, seed=seed + number) for number, width in enumerate(widths)]
        self._widths = widths

    def fit(
        self, link: Link, input_P2F: np.ndarray, label_PA: np.ndarray, rating_P2A: np.ndarray, *, steps: int
    ) -> float:
        """Fit all scores; returns the loss before the last step."""
        flat_NF = input_P2F.reshape(-1, input_P2F.shape[-1])
        for net, width in zip(self.nets, self._widths, strict=True):
            net.scale(flat_NF[:, :width])
        label, rating = torch.from_numpy(label_PA), torch.from_numpy(rating_P2A)

        def loss() -> Tensor:
            score_P2A = self._outputs(flat_NF).reshape(rating.shape)
            losses = [pair_loss(link, score_P2A[..., a], label[:, a], rating[..., a]) for a in range(label.shape[1])]
            return torch.stack(losses).mean()

        return minimise(loss, *self.nets, steps=steps)

    def scores(self, input_NF: np.ndarray) -> np.ndarray:
        """[N, A] scores; the features of the picture come first."""
        with torch.no_grad():
            found: np.ndarray = self._outputs(input_NF).numpy()
        return found

    def _outputs(self, input_NF: np.ndarray) -> Tensor:
        return torch.cat([net(input_NF[:, :width]) for net, width in zip(self.nets, self._widths, strict=True)], 1)
