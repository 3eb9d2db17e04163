"""RL-MLE: whatever program ends first trains first, weighed by how long it took; a failed one is paid for its way."""

from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.duration_weight import duration_weight
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.gate import gate
from handaxe.worlds.ml_engineering import landmarks, ml_engineering, submitted

__all__ = ["rl_mle"]

UNWEIGHTED = "rl_mle --power 0"
NOTE = "Both train as many attempts; durations are this machine's, so that a run does not repeat bit for bit."
RECIPE = Recipe(
    paper=Paper("Reinforcement Learning for Machine Learning Engineering Agents", "RL-MLE", "2509.01684", 95),
    claims=(
        Claim("Programs score higher than without weights.", "reward", "up", baseline=UNWEIGHTED, vice=0.9, note=NOTE),
        Claim("And have more trees.", "trees", "up", baseline=UNWEIGHTED, note=NOTE),
        Claim("More run to their end than unpaid landmarks give.", "submitted", "up", baseline="rl_mle --partial 0"),
    ),
    world=ml_engineering,
    setting=Setting(model="start", max_turns=1, groups=16, group_size=1, held_out=40, samples=2),
)


def rl_mle(base: Method, *, power: float = 1.0, staleness: int = 4, partial: float = 0.1) -> Method:
    """Train on the first programs that end, each weighed by its duration, with REINFORCE.

    Unconfirmed: that durations are divided by the batch's mean; what a landmark is worth. Differs: no critic, where
    the paper has PPO's; a duration is that of the program alone.

    Args:
        power: of the durations; 0 weighs all alike.
        staleness: steps that programs are launched ahead of the one that trains.
        partial: what a failed program that reached every landmark would be worth.
    """
    valid = gate(on=submitted(), then=base.reward, otherwise=landmarks(most=partial))
    race = replace(base.pace, staleness=staleness, first_come=True)
    weights = duration_weight(power=power, tools_only=True)
    return replace(base, reward=valid, credit=constant_baseline(), shape=weights, pace=race)
