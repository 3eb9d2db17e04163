"""Hybrid rewards (arXiv:2510.05283): mix a rule and a reward model by the rule's confidence; add format and length."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.hybrid.form_confidence import form_confidence, unsure
from handaxe.papers.hybrid.rule_or_model import CONFIDENCE, rule_or_model
from handaxe.papers.hybrid.text_similarity import text_similarity
from handaxe.tools.index.dense import embed

__all__ = ["hybrid"]


def hybrid(base: Method, *, trust: float = 0.8, format_weight: float = 0.2, length_weight: float = 0.5) -> Method:
    """Score the answer by a rule as far as its form is that of the reference, else by similarity; add format and
    length.

    Args:
        trust: confidence of the rule for an answer with the numbers of the reference alone; 0 leaves the model alone.
            Unconfirmed.
        format_weight: weight of the format. Unconfirmed.
        length_weight: lambda, penalty at 64 tokens, rising linearly from 32. Unconfirmed.
    """
    rule = rewards.weighted({"right": (1.0, base.reward), CONFIDENCE: (0.0, form_confidence())})
    accuracy = rule_or_model(rule=rule, model=text_similarity(encode=embed), trust=trust)
    parts = {"accuracy": (1.0, accuracy), "format": (format_weight, rewards.well_formed())}
    long = rewards.overlong(limit=64, cache=32)
    return replace(base, reward=rewards.weighted({**parts, "long": (length_weight, long), "unsure": (0.0, unsure())}))
