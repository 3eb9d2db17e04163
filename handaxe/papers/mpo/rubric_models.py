"""Reward model and meta reward model of a run: rules, or the language model of a desk."""

from __future__ import annotations

from handaxe.asking.desk import AskDesk
from handaxe.papers.mpo.asked_models import AskedJunior, AskedMeta
from handaxe.papers.mpo.letter_rules import RuleJunior, RuleMeta
from handaxe.papers.mpo.rubric_sample import JuniorModel, MetaModel

__all__ = ["rubric_models"]


def rubric_models(desk: AskDesk | None) -> tuple[JuniorModel, MetaModel]:
    """Make both models.

    Args:
        desk: asks one language model in both roles; None for the rules.

    Example:
        rubric_models(None)  ->  RuleJunior and RuleMeta

    Idea: the rules let the loop be tested without a language model.
    """
    if desk is None:
        junior = RuleJunior()
        return junior, RuleMeta(junior)
    return AskedJunior(desk), AskedMeta(desk)
