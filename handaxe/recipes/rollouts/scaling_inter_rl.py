"""ScalingInter-RL: attempts may take few turns at first, and more as training goes on."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rollouts.horizon import horizon
from handaxe.rollouts.linear import linear
from handaxe.worlds.slips import slips

__all__ = ["scaling_inter_rl"]

TITLE = "AgentGym-RL: Training LLM Agents for Long-Horizon Decision Making through Multi-Turn Reinforcement Learning"
SHORT = "scaling_inter_rl --horizons 2"
RECIPE = Recipe(
    paper=Paper(TITLE, "ScalingInter-RL", "2509.08755", 153),
    claims=(
        Claim("Ends above a long horizon from the start.", "pass@1", "up"),
        Claim("Ends above a short horizon all along.", "pass@1", "up", baseline=SHORT),
    ),
    world=slips,
    setting=Setting(model="start", max_turns=4),
)


def scaling_inter_rl(base: Method, *, horizons: tuple[int, ...] = (2, 3, 4), every: int = 7) -> Method:
    """Train with a horizon that grows; evaluations are played with the setting's most turns.

    Differs: attempts of `slips` rarely need the last horizon's turns.

    Args:
        horizons: most turns of an attempt in each stage; 6, 13, 20 in the paper's BabyAI.
        every: training steps of a stage; 100 in the paper.
    """
    return replace(base, rollout=linear(max_turns=horizon(turns=horizons, every=every)))
