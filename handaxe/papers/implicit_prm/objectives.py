"""Implicit PRMs by the name of their training objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from handaxe import judges
from handaxe.papers.implicit_prm.kto import kto
from handaxe.papers.implicit_prm.nca import nca
from handaxe.selection.pairs.ordered import ordered

if TYPE_CHECKING:
    from handaxe.judges.implicit_prm import ImplicitPrm

__all__ = ["OBJECTIVES", "Objective", "prm_by_objective"]

Objective = Literal["ce", "dpo", "nca", "kto"]
PAIRS = 8
"""Most pairs of a group."""
OBJECTIVES: Mapping[Objective, Callable[[float], dict[str, Any]]] = MappingProxyType(
    {
        "ce": lambda beta: {},
        "dpo": lambda beta: {"pairs": ordered(most=PAIRS)},
        "nca": lambda beta: {"pairs": ordered(most=PAIRS), "loss": nca(beta=beta)},
        "kto": lambda beta: {"loss": kto(beta=beta), "anchored": True},
    }
)
"""Objective -> arguments of `judges.implicit_prm` for a beta."""


def prm_by_objective(objective: Objective, *, beta: float = 0.05, learning_rate: float = 3e-4) -> ImplicitPrm:
    """Make an implicit PRM that learns by cross-entropy, DPO, NCA or KTO.

    Args:
        objective: ce and kto learn from single outcomes, dpo and nca from up to 8 pairs of a group.
        beta: scale of the log-ratio.
        learning_rate: of the PRM.

    Example:
        prm_by_objective("ce", beta=0.05) is judges.implicit_prm(beta=0.05, learning_rate=3e-4)

    Paper: arXiv:2412.01981 (implicit PRM), the reward as log-ratio under any objective.
    Differs: the number of pairs of a group.
    """
    return judges.implicit_prm(beta=beta, learning_rate=learning_rate, **OBJECTIVES[objective](beta))
