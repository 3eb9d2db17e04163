"""TP-GRPO: runs of steps judged alike are one thought, whose reward shifts with how often the policy is right."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.judges.exact_steps import exact_steps
from handaxe.judges.noisy import noisy
from handaxe.methods.method import Method, replace
from handaxe.rewards.step_labels import step_labels

__all__ = ["tp_grpo"]


def tp_grpo(base: Method, *, weight: float = 0.5, merge: bool = True, wrong: float = 0.1) -> Method:
    """Add to the outcome's advantage what the thoughts still to come earn, against the group.

    Args:
        weight: w of the thoughts' advantage.
        merge: runs of equal labels into one thought.
        wrong: chance that a label is turned around.
    """
    judge = noisy(judge=exact_steps(verdicts=base.world.need("verdicts")), spread=0.0, flip=wrong)
    thoughts = turn_norm(channel="labels", order="sum_first", std=None)
    return replace(
        base,
        reward=step_labels(base=base.reward, judge=judge, scale=1.0, merge=merge, adaptive=True),
        credit=total({"outcome": (1.0, group_norm(channel="base")), "thoughts": (weight, thoughts)}),
    )
