"""The reward of hybrid rewards: rule and model by the rule's confidence, format, and length."""

from handaxe import rewards
from handaxe.core.protocols import Reward
from handaxe.papers.hybrid.form_confidence import form_confidence, unsure
from handaxe.papers.hybrid.rule_or_model import CONFIDENCE, rule_or_model

__all__ = ["mixed_reward"]


def mixed_reward(
    *, correct: Reward, model: Reward, trust: float = 0.8, format_weight: float = 0.2, length_weight: float = 0.5
) -> Reward:
    """Score the answer by a rule as far as its form is that of the reference, else by a model; add format and length.

        R = k rule + (1 - k) model + format_weight formed - length_weight long          k: see `rule_or_model`

    Args:
        correct: the rule.
        model: score of an answer in [0, 1].
        trust: confidence of the rule for an answer with the numbers of the reference alone; 0 leaves the model alone.
        format_weight: weight of the format.
        length_weight: lambda, penalty at 64 tokens, rising linearly from 32.

    Returns:
        A reward with the channels "accuracy", "format", "long" and "unsure", the share of answers without full
        confidence.

    Example:
        confidence 0.8, rule 1, model 0.4, well-formed, 20 tokens  ->  0.88 + 0.2 = 1.08

    Paper: arXiv:2510.05283 (Beyond Monolithic Rewards).
    Unconfirmed: the formula and all weights; only the abstract was available.
    Differs: nothing known.
    """
    rule = rewards.weighted({"right": (1.0, correct), CONFIDENCE: (0.0, form_confidence())})
    accuracy = rule_or_model(rule=rule, model=model, trust=trust)
    parts = {"accuracy": (1.0, accuracy), "format": (format_weight, rewards.well_formed())}
    long = rewards.overlong(limit=64, cache=32)
    return rewards.weighted({**parts, "long": (length_weight, long), "unsure": (0.0, unsure())})
