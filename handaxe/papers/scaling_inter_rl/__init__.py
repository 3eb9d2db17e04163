"""ScalingInter-RL: attempts may take few turns at first, and more as training goes on."""

from handaxe.methods.method import Method, replace
from handaxe.papers.scaling_inter_rl.horizon import horizon
from handaxe.rollouts.linear import linear

__all__ = ["scaling_inter_rl"]


def scaling_inter_rl(base: Method, *, horizons: tuple[int, ...] = (2, 3, 4), every: int = 7) -> Method:
    """Train with a horizon that grows; evaluations are played with the setting's most turns.

    Args:
        horizons: most turns of an attempt in each stage; 6, 13, 20 in the paper's BabyAI.
        every: training steps of a stage; 100 in the paper.
    """
    return replace(base, rollout=linear(max_turns=horizon(turns=horizons, every=every)))
