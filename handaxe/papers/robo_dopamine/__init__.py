"""Robo-Dopamine (arXiv:2512.23703): a model of relative progress, and a shaping that keeps the optimal policy."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.robo_dopamine.hop_model import HopModel
from handaxe.papers.robo_dopamine.shaped_steps import ProgressForm

__all__ = ["robo_dopamine"]


def robo_dopamine(
    base: Method, *, form: ProgressForm = "shaping", gamma: float = 0.99, episodes: int = 128, pairs: int = 6000
) -> Method:
    """Add the progress of a fitted model to the base's reward, turn by turn.

        reward of turn n = gamma * Phi_{n+1} - Phi_n, and the base's outcome at the last turn
        advantage        = discounted sum from the turn on, normalized over the siblings at the same turn

    Args:
        form: shaping; level, progress as a reward of each state; none, the outcome alone.
        gamma: discount of shaping and credit.
        episodes: rollouts of the expert for the model.
        pairs: pairs of states for the model.
    """
    model = HopModel(world=base.world, episodes=episodes, pairs=pairs, form=form, gamma=gamma)
    parts = {"answer": (1.0, base.reward), "progress": (1.0, rewards.judged_steps(judge=model))}
    return replace(
        base,
        stages=(*base.stages, model.stage),
        reward=rewards.weighted(parts),
        credit=credit.turn_norm(norm="index", order="sum_first", gamma=gamma),
        learners=(*base.learners, model),
    )
