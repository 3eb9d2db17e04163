"""VerlTool (arXiv:2509.01055), MT-GRPO: credit executed tool calls to the tokens before the first tool result."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.ops.token_masks import turn_tokens

__all__ = ["verltool_turns"]


def verltool_turns(
    base: Method, *, coefficient: float = 1.0, success_share: float = 0.3, success_count: float = 0.05
) -> Method:
    """Normalise the outcome and the executions of tool calls separately, and add the latter's advantage on turn 1.

    Args:
        coefficient: weight of the advantage of executions; 1 in the repository.
        success_share: reward for the share of calls that execute; 0.3 in the repository.
        success_count: reward for a call that executes; 0.05 in the repository.
    """
    executed = rewards.weighted(
        {
            "share": (success_share, rewards.tool_success()),
            "count": (success_count, rewards.tool_success(count=True)),
        }
    )
    on_first_turn = credit.token_subset(credit.group_norm(channel="executed"), where=turn_tokens(0))
    outcome = credit.group_norm(channel="outcome")
    return replace(
        base,
        reward=rewards.weighted({"outcome": (1.0, base.reward), "executed": (0.0, executed)}),
        credit=credit.total({"outcome": (1.0, outcome), "executed": (coefficient, on_first_turn)}),
    )
