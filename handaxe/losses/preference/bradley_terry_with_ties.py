"""Bradley-Terry loss with a probability of ties.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.rollout_scores import pair_metrics, pair_scores
from handaxe.losses.parts.tie_nll import tie_nll
from handaxe.losses.parts.token_metrics import floats

__all__ = ["bradley_terry_with_ties"]


def bradley_terry_with_ties(*, head: str = "reward", k: float = 5.0) -> Loss:
    """Fit pairs of which some are ties.

        P(w) = sigmoid(D - ln k),   P(l) = sigmoid(-D - ln k),   P(tie) = (k^2 - 1) P(w) P(l)
        L    = mean over pairs of -ln P(w) for strength above 0, -ln P(tie) for strength 0

    The three probabilities add up to 1 for every D = r_w - r_l. Scores, pairs and strengths as in `bradley_terry`.

    Args:
        head: name of the head.
        k: > 1; a larger k makes ties more likely.

    Returns:
        A loss with the metrics of `bradley_terry`.

    Raises:
        InputError: k of 1 or less; the engine has no such head; one side of a pair is missing.

    Example:
        k 5, D 0: P(w) = P(l) = 1 / 6, P(tie) = 2 / 3  ->  strict 1.79176, tie 0.40547; D 1: 1.04359 and 0.54597

    Paper: arXiv:2501.13918 (VideoReward), after Rao and Kupper.
    Differs: nothing.
    """
    if not k > 1:
        raise InputError(f"k is {k}; give more than 1, or use bradley_terry for pairs without ties")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        found = pair_scores(out, batch, head)
        strict_P1 = (found.strength_P > 0).to(found.chosen_PK.dtype)[:, None]
        value = tie_nll(found.margin_PK, strict_P1, k=k).mean(1).sum() / found.pairs
        return LossOut(value, floats({"loss": value, **pair_metrics(found.margin_PK, strict_P1, found.pairs)}))

    return loss
