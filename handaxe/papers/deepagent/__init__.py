"""DeepAgent (arXiv:2510.21618), ToolPO: credit correct calls to the tokens of calls, and the outcome to all tokens."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace

__all__ = ["deepagent"]


def deepagent(base: Method, *, action: float = 1.0, per_call: float = 1.0) -> Method:
    """Normalise outcome and action rewards separately, and add the actions' advantage on tokens of calls.

    Args:
        action: weight of the actions' advantage.
        per_call: lambda_1, reward of a call that equals a reference call. Unconfirmed.
    """
    actions = rewards.action_score(per_call=per_call, fold=0.0, gold=base.world.need("reference"))
    on_calls = credit.token_subset(credit.group_norm(channel="action"))
    success = credit.group_norm(channel="success")
    return replace(
        base,
        reward=rewards.weighted({"success": (1.0, base.reward), "action": (0.0, actions)}),
        credit=credit.total({"success": (1.0, success), "action": (action, on_calls)}),
    )
