"""RL-MLE: whatever program ends first trains first, weighed by how long it took; a failed one is paid for its way."""

from handaxe.credit.constant_baseline import constant_baseline
from handaxe.methods.method import Method, replace
from handaxe.papers.rl_mle.duration_weight import duration_weight
from handaxe.papers.rl_mle.ml_engineering import landmarks, submitted
from handaxe.rewards.gate import gate

__all__ = ["rl_mle"]


def rl_mle(base: Method, *, power: float = 1.0, staleness: int = 4, partial: float = 0.1) -> Method:
    """Train on the first programs that end, each weighed by its duration, with REINFORCE.

    Args:
        power: of the durations; 0 weighs all alike.
        staleness: steps that programs are launched ahead of the one that trains.
        partial: what a failed program that reached every landmark would be worth.
    """
    valid = gate(on=submitted(), then=base.reward, otherwise=landmarks(most=partial))
    race = replace(base.pace, staleness=staleness, first_come=True)
    weights = duration_weight(power=power, tools_only=True)
    return replace(base, reward=valid, credit=constant_baseline(), shape=weights, pace=race)
