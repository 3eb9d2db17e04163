"""Turn-level PPO: estimate one advantage for each turn, with a critic at the starts of turns."""

from handaxe import credit
from handaxe.methods.method import Method, replace

__all__ = ["turn_ppo"]


def turn_ppo(base: Method, *, turn_gamma: float = 1.0, turn_lam: float = 0.95) -> Method:
    """Replace token-level by turn-level generalised advantage estimation.

    Args:
        turn_gamma: discount a turn.
        turn_lam: lambda of the estimator.
    """
    return replace(base, credit=credit.turn_gae(gamma=turn_gamma, lam=turn_lam))
