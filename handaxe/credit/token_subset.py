"""Restricts a credit to some tokens of the policy, such as tool calls."""

from dataclasses import replace

from handaxe.core.protocols import Credit
from handaxe.core.records import RatedGroup
from handaxe.credit.transformed import transformed
from handaxe.ops.ragged import gather, scatter
from handaxe.ops.token_masks import TokenMask, tool_call_tokens

__all__ = ["token_subset"]

CALLS = tool_call_tokens()


def token_subset(credit: Credit, *, where: TokenMask = CALLS) -> Credit:
    """Keep the advantages of a credit at chosen tokens, and set the others to 0.

        A'_i,t = 1[t in where(i)] * A_i,t        for sampled tokens t of trajectory i

    The other tokens still train: they stay in denominators and terms, and another credit may be added for them
    (`total`). Value targets are unchanged.

    Args:
        credit: gives the advantages. The statistics are over whole trajectories.
        where: the tokens, see `token_masks`: by default tokens of well-formed calls; `tool_call_tokens("search")`
            chooses calls of a tool, `turn_tokens(0)` the first turn.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. It is Stateful, with the state of `credit`. A
        trajectory without a call gets 0 everywhere.

    Raises:
        InputError: the chat format does not mark the tokens of a call.

    Example:
        ToolPO of two rollouts, R_succ 1, 0 and R_action 1, 2 (sample std):
        total({"success": (1, group_norm(channel="success")), "action": (1,
        token_subset(group_norm(channel="action")))}) gives tokens of calls 0.7071 - 0.7071 = 0 and -0.7071 + 0.7071 =
        0, all others 0.7071 and -0.7071

    Paper: arXiv:2510.21618 (DeepAgent), the advantage of ToolPO: A_succ + 1[y_t in a call] * A_action;
    arXiv:2509.01055 (VerlTool), MT-GRPO of its repository: an advantage of executed calls on the first turn.
    Unconfirmed: ToolPO's scale of A_action; here both scales come from `credit`.
    Differs: nothing.
    """

    def limited(one: RatedGroup) -> RatedGroup:
        pairs = zip(one.group, one.advantages.tokens, strict=True)
        tokens = tuple(scatter(trajectory, gather(trajectory, own) * where(trajectory)) for trajectory, own in pairs)
        return replace(one, advantages=replace(one.advantages, tokens=tokens))

    return transformed(credit, lambda rated: [limited(one) for one in rated])
