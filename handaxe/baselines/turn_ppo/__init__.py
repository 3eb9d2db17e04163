"""Turn-level PPO: estimate one advantage for each turn, with a critic at the starts of turns."""

from handaxe import advantages, credit
from handaxe.advantages.batch_whiten import Within
from handaxe.methods.method import Method, replace

__all__ = ["turn_ppo"]


def turn_ppo(
    base: Method,
    *,
    turn_gamma: float = 1.0,
    turn_lam: float = 0.95,
    whiten: Within = "batch",
    critic_warmup: int = 0,
    critic_rate: float | None = None,
) -> Method:
    """Replace token-level by turn-level generalised advantage estimation.

    Args:
        turn_gamma: discount a turn.
        turn_lam: lambda of the estimator.
        whiten: statistics of advantages over the batch, or over the tokens of each turn index.
        critic_warmup: first steps, in which only the critic learns; at least those of the base.
        critic_rate: learning rate of the critic; None for the base's.
    """
    return replace(
        base,
        credit=credit.turn_gae(gamma=turn_gamma, lam=turn_lam),
        transform=advantages.batch_whiten(within=whiten),
        critic_warmup=max(critic_warmup, base.critic_warmup),
        critic_rate=critic_rate or base.critic_rate,
    )
