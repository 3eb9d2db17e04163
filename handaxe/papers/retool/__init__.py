"""ReTool: a code interpreter inside the reasoning, outcome reward alone, PPO over what the policy wrote."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.failure_shaping import failure_shaping

__all__ = ["retool"]


def retool(base: Method, *, cap: float = -1.0, bonus: float = 0.0) -> Method:
    """Train on +1 for a right answer and -1 for a wrong one.

    Not testable here: that training degrades where observations are not masked. No part of the library can leave the
    mask out, which follows from who wrote a token.

    Args:
        cap: best reward of a failure: -1 as in the paper, -0.6 in released code.
        bonus: for one exchange of a call and its reply in a failure; 0.1 in the shaped variant.
    """
    return replace(base, reward=failure_shaping(base=base.reward, bonus=bonus, cap=cap, correct_above=0.5))
