"""ScalingInter-RL (arXiv:2509.08755): raise the maximum number of turns in stages during training."""

from handaxe import rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.scaling_inter_rl.horizon import horizon

__all__ = ["scaling_inter_rl"]


def scaling_inter_rl(base: Method, *, horizons: tuple[int, ...] = (8, 14, 20), stage_steps: int = 7) -> Method:
    """Train with a growing horizon; evaluate with the maximum turns of the settings.

    Args:
        horizons: maximum turns of each stage; 6, 13, 20 in the paper's BabyAI.
        stage_steps: training steps of a stage; 100 in the paper.
    """
    return replace(base, rollout=rollouts.linear(max_turns=horizon(turns=horizons, every=stage_steps)))
