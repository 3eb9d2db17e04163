"""Pair criteria by name, for both stages of preference training."""

from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.papers.tool_light.few_call_pairs import few_call_pairs
from handaxe.papers.tool_light.random_pairs import random_pairs
from handaxe.papers.tool_light.self_evolved_pairs import self_evolved_pairs

__all__ = ["Criteria", "PairCriteria", "pair_criteria"]

Criteria = Literal["paper", "random"]


class PairCriteria(NamedTuple):
    """Makers of pairs of the pre-aligned and of the self-evolved stage."""

    first: Pairs
    loop: Pairs


def pair_criteria(name: Criteria, *, hard_below: float = 0.5) -> PairCriteria:
    """Make the pair criteria of both stages.

    Args:
        name: "paper" for the criteria of Tool-Light, "random" for random correct and incorrect chains.
        hard_below: accuracy below which a question is hard.

    Raises:
        InputError: another name.

    Example:
        pair_criteria("paper").loop is self_evolved_pairs()

    Paper: arXiv:2509.23285 (Tool-Light), its criteria, and random pairs as comparison.
    Differs: see the criteria.
    """
    if name == "paper":
        return PairCriteria(few_call_pairs(), self_evolved_pairs(hard_below=hard_below))
    if name == "random":
        return PairCriteria(random_pairs(), random_pairs())
    raise InputError(f"criteria is paper or random, not {name!r}")
