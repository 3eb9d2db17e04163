"""RL-MLE (arXiv:2509.01684): weight programs by duration in an asynchronous race; reward partial progress."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.rl_mle.duration_weight import duration_weight
from handaxe.papers.rl_mle.ml_engineering import landmarks, submitted

__all__ = ["rl_mle"]


def rl_mle(base: Method, *, duration_power: float = 1.0, staleness: int = 4, landmark_reward: float = 0.1) -> Method:
    """Train with REINFORCE on the programs that finish first, weighted by duration.

    Args:
        duration_power: exponent of the durations; 1 in the paper, 0 for equal weights.
        staleness: steps that programs are launched ahead of training.
        landmark_reward: reward of a failed program that reached every landmark; 0.1 a landmark in the paper.
    """
    partial = landmarks(most=landmark_reward)
    return replace(
        base,
        reward=rewards.gate(on=submitted(), then=base.reward, otherwise=partial),
        credit=credit.constant_baseline(),
        transform=duration_weight(power=duration_power, tools_only=True),
        async_config=replace(base.async_config, staleness=staleness, race=True),
    )
