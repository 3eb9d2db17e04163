"""DeepAgent (arXiv:2510.21618), memory folding: extend ToolPO's action reward by completed rollouts that fold."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.deepagent import deepagent

__all__ = ["deepagent_folding"]


def deepagent_folding(base: Method, *, fold: float = 0.5) -> Method:
    """Train with ToolPO in a world with a tool for summaries of the context.

    Args:
        fold: lambda_2, reward of a completed rollout that folded its memory. Unconfirmed.
    """
    actions = rewards.action_score(fold=fold, gold=base.world.need("reference"))
    reward = rewards.weighted({"success": (1.0, base.reward), "action": (0.0, actions)})
    return replace(deepagent(base), reward=reward)
