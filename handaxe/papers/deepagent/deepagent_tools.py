"""DeepAgent (arXiv:2510.21618), scalable tool sets: ToolPO with found tools, simulated APIs and structured memories."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.deepagent import deepagent
from handaxe.papers.deepagent.found_actions import found_actions

__all__ = ["deepagent_tools"]


def deepagent_tools(
    base: Method, *, per_call: float = 1.0, fold: float = 0.5, simulator: str = "rule", memory: str = "rule"
) -> Method:
    """Train with ToolPO in a world whose tools are found by search.

    Args:
        per_call: lambda_1, reward of each step of the task that a call makes. Unconfirmed.
        fold: lambda_2, reward of a completed rollout that folded its memory. Unconfirmed.
        simulator: who replies for the tools: rule, self, self@start, trained, a model, or http://HOST/v1#NAME; a
            language model in the paper.
        memory: who writes the three memories, likewise.
    """
    actions = found_actions(per_call=per_call, fold=fold)
    return replace(
        deepagent(base),
        aux_policies={"simulator": simulator, "memory": memory},
        reward=rewards.weighted({"success": (1.0, base.reward), "action": (0.0, actions)}),
    )
