"""Hybrid rewards (arXiv:2510.05283) with a trained reward model."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.methods.pair_reward_model import pair_reward_model
from handaxe.papers.hybrid.mixed_reward import mixed_reward

__all__ = ["hybrid_trained"]


def hybrid_trained(
    base: Method,
    *,
    trust: float = 0.8,
    format_weight: float = 0.2,
    length_weight: float = 0.5,
    fit_groups: int = 24,
    fit_epochs: int = 8,
) -> Method:
    """Fit a reward model on pairs of the first policy's rollouts, and take it as the model of hybrid rewards.

    Args:
        trust: confidence of the rule for an answer with the numbers of the reference alone; 0 leaves the model alone.
            Unconfirmed.
        format_weight: weight of the format. Unconfirmed.
        length_weight: lambda, penalty at 64 tokens, rising linearly from 32. Unconfirmed.
        fit_groups: groups on which the reward model is fitted.
        fit_epochs: passes over their pairs.

    Example:
        confidence 0.8, rule 1, model 0.4, well-formed, 20 tokens  ->  0.8 + 0.2 * 0.4 + 0.2 = 1.08

    Paper: arXiv:2510.05283 (Beyond Monolithic Rewards), hybrid of a rule and a reward model.
    """
    model, fitting = pair_reward_model(base, channel="truth", groups=fit_groups, epochs=fit_epochs)
    score = rewards.judged(judge=model, squash="sigmoid")
    weights = {"trust": trust, "format_weight": format_weight, "length_weight": length_weight}
    mixed = mixed_reward(correct=base.reward, model=score, **weights)
    return replace(
        base,
        reward=rewards.weighted({"mixed": (1.0, mixed), "truth": (0.0, base.reward)}),
        stages=(*base.stages, fitting),
        learners=(*base.learners, model),
    )
