"""Mixture of a rule and a reward model, weighted by the rule's confidence."""

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["CONFIDENCE", "rule_or_model"]

CONFIDENCE = "confidence"


def rule_or_model(*, rule: Reward, model: Reward, trust: float = 1.0) -> Reward:
    """Mix the scores of a rule and of a model by the confidence of the rule.

        R_i = k_i rule_i + (1 - k_i) model_i          k_i = trust * confidence_i, the channel "confidence" of the rule

    A rule states its confidence as a component of that name: weighted({"right": (1.0, exact), CONFIDENCE: (0.0,
    sure)}), with `sure` a reward in [0, 1].

    Args:
        rule: reward without per-turn values, such as an exact comparison.
        model: reward without per-turn values, such as a learned reward model or `text_similarity`.
        trust: scale of the confidence, 0 to 1; 0 leaves the model alone.

    Returns:
        A reward with outcome [G] and the channels "rule", "rule/confidence" and "model".

    Raises:
        InputError: trust out of range, a rule without the channel, per-turn values.
        VerifierError: a confidence outside [0, 1]; the error names the trajectory.

    Example:
        confidence 0.8, rule 1, model 0.4  ->  0.88;  confidence 0  ->  0.4

    Paper: arXiv:2510.05283 (Beyond Monolithic Rewards), the accuracy reward.
    Unconfirmed: the formula; only the abstract was available.
    Differs: nothing known.
    """
    if not 0 <= trust <= 1:
        raise InputError(f"trust is {trust}; give 0 to 1")

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        ruled, modelled = (outcome_only(parts[name], name).outcome for name in ("rule", "model"))
        if CONFIDENCE not in parts["rule"].channels:
            channels = ", ".join(sorted(parts["rule"].channels)) or "none"
            raise InputError(f"the rule has no channel {CONFIDENCE!r}; its channels are {channels}")
        sure_G = parts["rule"].channels[CONFIDENCE]
        if not ((sure_G >= 0) & (sure_G <= 1)).all():
            wrong = group[int(np.flatnonzero(~((sure_G >= 0) & (sure_G <= 1)))[0])].id
            raise VerifierError(f"the rule's confidence in {wrong!r} is outside [0, 1]: {sure_G}", trajectory=wrong)
        return Scores(trust * sure_G * ruled + (1 - trust * sure_G) * modelled)

    return Combined({"rule": rule, "model": model}, merge)
