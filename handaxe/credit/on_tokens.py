"""A credit that speaks of some of the policy's tokens only, such as those of its tool calls."""

from dataclasses import replace

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group
from handaxe.credit.transformed import transformed
from handaxe.ops.places import Where, in_calls
from handaxe.ops.ragged import gather, scatter

__all__ = ["on_tokens"]

CALLS = in_calls()


def on_tokens(credit: Credit, *, where: Where = CALLS) -> Credit:
    """Keep what a credit says at chosen tokens, and say nothing of the others.

        A'_i,t = 1[t in where(i)] * A_i,t        for sampled tokens t of trajectory i

    The other tokens get 0 and still train: they stay in denominators and terms, and a credit added to this one
    (`total`) speaks for them. Value targets stay as they are.

    Args:
        credit: gives the advantages. Its statistics are those of whole trajectories.
        where: which tokens, see `ops.places`: those of well-formed calls unless told otherwise, of some tools with
            `in_calls("search")`, of the first turn with `in_turn(0)`.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. It is Stateful, and its state is that of
        `credit`. Without a call a trajectory gets 0 everywhere.

    Raises:
        InputError: where the chat format does not tell which tokens a call has.

    Example:
        ToolPO of two attempts, R_succ 1, 0 and R_action 1, 2 (sample std):
        total({"success": (1, group_norm(channel="success")), "action": (1, on_tokens(group_norm(channel="action")))})
        gives tokens of calls 0.7071 - 0.7071 = 0 and -0.7071 + 0.7071 = 0, all others 0.7071 and -0.7071

    Paper: arXiv:2510.21618 (DeepAgent), the advantage of ToolPO: A_succ + 1[y_t in a call] * A_action.
    Unconfirmed: how the paper scales A_action; both are whatever `credit` makes of them.
    Differs: nothing.
    """

    def limited(group: Group, advantages: Advantages) -> Advantages:
        tokens = tuple(
            scatter(one, gather(one, own) * where(one)) for one, own in zip(group, advantages.tokens, strict=True)
        )
        return replace(advantages, tokens=tokens)

    return transformed(credit, limited)
