"""Hybrid rewards: a rule as far as it is sure, a model for the rest, the format, and the length."""

from handaxe.methods.method import Method, replace
from handaxe.papers.hybrid.rule_or_model import CONFIDENCE, rule_or_model
from handaxe.papers.hybrid.text_similarity import text_similarity
from handaxe.rewards.outcome import outcome
from handaxe.rewards.overlong import overlong
from handaxe.rewards.parts.extract import last_number
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.tools.index.dense import embed

__all__ = ["hybrid"]


def hybrid(base: Method, *, trust: float = 0.8, formed: float = 0.2, long: float = 0.5) -> Method:
    """Train on a rule where a number can be read and else on likeness in meaning, on format and on length.

    Args:
        trust: in the rule, where a number can be read; unconfirmed. 0 leaves likeness alone.
        formed: weight of the format; unconfirmed.
        long: lambda, of what is longer than 32 tokens, in full at 64; unconfirmed.
    """
    sure = outcome(lambda one: float(bool(last_number(one))))
    rule = weighted({"right": (1.0, base.reward), CONFIDENCE: (0.0, sure)})
    mixed = rule_or_model(rule=rule, model=text_similarity(encode=embed), trust=trust)
    parts = {"accuracy": (1.0, mixed), "format": (formed, well_formed()), "long": (long, overlong(limit=64, cache=32))}
    return replace(base, reward=weighted(parts))
