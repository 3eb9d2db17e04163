"""PPO whose critic looks at the beginnings of turns: a turn has one advantage, for all of its tokens."""

from handaxe.credit.turn_gae import turn_gae
from handaxe.methods.method import Method, replace

__all__ = ["turn_ppo"]


def turn_ppo(base: Method, *, turn_gamma: float = 1.0, turn_lam: float = 0.95) -> Method:
    """Estimate advantages turn by turn.

    Args:
        turn_gamma: discount a turn.
        turn_lam: lambda of the advantage estimator.
    """
    return replace(base, credit=turn_gae(gamma=turn_gamma, lam=turn_lam))
