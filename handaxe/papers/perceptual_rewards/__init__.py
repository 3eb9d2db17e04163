"""Unsupervised perceptual rewards (arXiv:1612.06699): rewards of steps from a handful of demonstrations."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.perceptual_rewards.perceptual_judge import PerceptualJudge

__all__ = ["perceptual_rewards"]


def perceptual_rewards(
    base: Method,
    *,
    weight: float = 0.1,
    episodes: int = 40,
    segments: int = 3,
    features: int = 32,
    alpha: float = 5.0,
    gamma: float = 0.99,
) -> Method:
    """Add the steps of demonstrations that a state looks like to the base's reward, turn by turn.

    Args:
        weight: of the reward of a turn, which is 0 to 1; 0 leaves the sparse reward.
        episodes: rollouts of the expert, of which the successes are demonstrations.
        segments: steps of a demonstration.
        features: most discriminative features of each step.
        alpha: weight of the distance of means in the selection of features.
        gamma: discount per turn of the credit.
    """
    judge = PerceptualJudge(world=base.world, episodes=episodes, segments=segments, features=features, alpha=alpha)
    parts = {"answer": (1.0, base.reward), "perceptual": (weight, rewards.judged_steps(judge=judge))}
    return replace(
        base,
        stages=(*base.stages, judge.stage),
        reward=rewards.weighted(parts),
        credit=credit.turn_norm(norm="index", order="sum_first", gamma=gamma),
        learners=(*base.learners, judge),
    )
