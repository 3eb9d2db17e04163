"""Hybrid rewards (arXiv:2510.05283) with a trained reward model."""

from handaxe import judges, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.hybrid.mixed_reward import mixed_reward
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.fit import fit
from handaxe.training.stages.sources import played

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
    """
    model = judges.reward_model(
        pairs=ordered(), batch_size=32, fit_epochs=fit_epochs, learning_rate=3e-4, learns=False, channel="truth"
    )
    score = rewards.judged(judge=model, squash="sigmoid")
    weights = {"trust": trust, "format_weight": format_weight, "length_weight": length_weight}
    mixed = mixed_reward(correct=base.reward, model=score, **weights)
    labels = played(groups=fit_groups, group_size=base.settings.group_size, arguments={"reward": base.reward})
    return replace(
        base,
        reward=rewards.weighted({"mixed": (1.0, mixed), "truth": (0.0, base.reward)}),
        stages=(*base.stages, fit(judge=model, source=labels)),
        learners=(*base.learners, model),
    )
