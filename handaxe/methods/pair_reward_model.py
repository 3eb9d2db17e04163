"""A reward model for a method: fitted before training on pairs of the first policy's rollouts, and frozen."""

from handaxe import judges
from handaxe.core.protocols import Pairs, Stage
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.fit import fit

__all__ = ["pair_reward_model"]


def pair_reward_model(
    base: Method, *, channel: str, groups: int = 24, epochs: int = 8, pairs: Pairs | None = None
) -> tuple[RewardModel, Stage]:
    """Make a copy of the policy with a linear head that scores rollouts, and the stage that fits it.

    List the model in `learners`, so that checkpoints hold its weights; it does not learn in the loop.

    Args:
        channel: of the training rewards, with the true outcome; the model's metrics compare with it.
        groups: groups of the first policy.
        epochs: passes over the pairs.
        pairs: of these groups; None: every two siblings with different rewards of the method.

    Returns:
        The model, a judge with unbounded scores, and the stage.

    Example:
        rewards 1, 0 and 0 of a group  ->  two pairs, each with the first rollout chosen
    """
    model = judges.reward_model(
        pairs=pairs or ordered(), batch_size=32, fit_epochs=epochs, learning_rate=3e-4, learns=False, channel=channel
    )
    return model, fit(judge=model, source=labelled_rollouts(base, groups=groups))
