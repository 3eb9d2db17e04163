"""Hybrid rewards (arXiv:2510.05283): mix a rule and a reward model by the rule's confidence; add format and length."""

from handaxe.methods.method import Method, replace
from handaxe.papers.hybrid.mixed_reward import mixed_reward
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
    model = text_similarity(encode=embed)
    weights = {"trust": trust, "format_weight": format_weight, "length_weight": length_weight}
    return replace(base, reward=mixed_reward(correct=base.reward, model=model, **weights))
