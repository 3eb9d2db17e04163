"""Rewards few calls, of attempts that are right."""

from handaxe.core.protocols import Reward
from handaxe.rewards.call_cost import call_cost
from handaxe.rewards.gate import gate

__all__ = ["economy"]


def economy(*, base: Reward, correct_above: float = 0.0) -> Reward:
    """Give one over one more than the number of calls to an attempt that is right, and nothing to one that is not.

        R_i = 1 / (T_i + 1)   if base_i > correct_above, else 0        T_i: well-formed calls of attempt i

    Args:
        base: what tells right from wrong.
        correct_above: right is a base reward strictly above this.

    Returns:
        A reward with outcome [G] in [0, 1] and the base outcome as channel "on". Those that are right are `eligible`,
        so that a credit may compare calls among them alone.

    Raises:
        InputError: a base reward with per-turn values.

    Example:
        right with 0, 1 and 3 calls, wrong with 0  ->  1, 0.5, 0.25, 0

    Paper: arXiv:2604.08545 (HDPO), r_tool.
    Differs: nothing.
    """
    return gate(on=base, then=call_cost(form="inverse"), above=correct_above, mark_eligible=True)
