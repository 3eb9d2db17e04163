"""A reward model from a fixed set of preference pairs, for studies of data."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe import judges
from handaxe.core.protocols import Engine, Loss
from handaxe.core.records import Pair
from handaxe.judges.reward_model import RewardModel

__all__ = ["preference_model"]


def preference_model(
    engine: Engine, pairs: Sequence[Pair], *, presented: int, learning_rate: float, loss: Loss | None = None
) -> RewardModel:
    """Fit a copy of a policy with a linear head to preference pairs.

        passes = max(1, round(presented / number of pairs)),   batches of 16 pairs

    Args:
        engine: of the policy.
        pairs: preferences.
        presented: pairs that the fit presents, in whole passes: fewer pairs take more passes.
        learning_rate: of AdamW.
        loss: on pairs; None is Bradley-Terry.

    Returns:
        The model, which does not learn any further.

    Example:
        24 pairs, presented 240: 10 passes;  400 pairs: one pass

    Idea: models of more and of fewer pairs compare at equal numbers of updates.
    """
    given = list(pairs)
    model = judges.reward_model(
        pairs=lambda rated: given,
        loss=loss,
        batch_size=16,
        fit_epochs=max(round(presented / max(len(given), 1)), 1),
        learning_rate=learning_rate,
        learns=False,
    )
    model.begin(engine)
    model.fit([])
    return model
