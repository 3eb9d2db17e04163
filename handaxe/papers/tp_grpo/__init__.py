"""TP-GRPO (arXiv:2507.23317): reward thoughts, runs of steps with equal labels, by the group's accuracy."""

from handaxe import credit, judges, rewards
from handaxe.methods.method import Method, replace

__all__ = ["tp_grpo"]


def tp_grpo(base: Method, *, weight: float = 0.5, merge: bool = True, label_noise: float = 0.1) -> Method:
    """Add to the outcome advantage the return over future thoughts, centered within the group.

    Args:
        weight: w, weight of the thoughts' advantage. Unconfirmed.
        merge: merge runs of equal labels into one thought; False rewards every step.
        label_noise: probability that a step's label is flipped; the paper has a generative judge.
    """
    steps = judges.exact_steps(verdicts=base.world.need("verdicts"))
    judge = base.judge.steps(rule=judges.noisy(judge=steps, spread=0.0, flip=label_noise))
    outcome = credit.group_norm(channel="base")
    thoughts = credit.turn_norm(channel="labels", order="sum_first", std=None)
    return replace(
        base,
        reward=rewards.step_labels(base=base.reward, judge=judge, scale=1.0, merge=merge, adaptive=True),
        credit=credit.total({"outcome": (1.0, outcome), "thoughts": (weight, thoughts)}),
    )
