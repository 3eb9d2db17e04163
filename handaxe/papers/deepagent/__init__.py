"""DeepAgent: an answer is credited to every token, right calls to the tokens of calls alone."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.on_tokens import on_tokens
from handaxe.credit.total import total
from handaxe.methods.method import Method, replace
from handaxe.rewards.action_score import action_score
from handaxe.rewards.weighted import weighted

__all__ = ["deepagent"]


def deepagent(base: Method, *, action: float = 1.0, per_call: float = 1.0, fold: float = 0.5) -> Method:
    """Train with ToolPO: outcome and actions normalised apart, actions credited where a call is written.

    Attempts fold their memory in a world that lets them: `--world folded_hops --max-turns 6`.

    Args:
        action: weight of the actions' advantage.
        per_call: lambda_1, for each right call; unconfirmed.
        fold: lambda_2, for a folded memory; unconfirmed.
    """
    acts = action_score(per_call=per_call, fold=fold, gold=base.world.need("reference"))
    called = on_tokens(group_norm(channel="action"))
    return replace(
        base,
        reward=weighted({"success": (1.0, base.reward), "action": (0.0, acts)}),
        credit=total({"success": (1.0, group_norm(channel="success")), "action": (action, called)}),
    )
