"""Figures of a population of instructions, a row a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import RatedGroup
from handaxe.papers.inspo.instructions import Instructions

__all__ = ["InstructionFigures"]


class InstructionFigures:
    """Learner that learns nothing: the state of a population after a step.

        proposals    proposals so far that came into the population
        preference   max_j p_j - 1 / n over the n instructions after the trial: 0 for an even choice
        weight       of the best instruction; left out before any trial has ended
        improved     1 if a proposal is the best instruction, else 0
        failures     stored failures

    Args:
        population: read after its own update.

    Example:
        weights 0.5, 0.3, 0.1 of three initial instructions, temperature 0.1
        ->  proposals 0, preference 0.867 - 0.333 = 0.534, weight 0.5, improved 0

    Idea: a mechanism of four parts needs a figure of each.
    """

    def __init__(self, population: Instructions):
        self._population = population

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        del groups, step
        population = self._population
        chances, best = population.chances(), population.best
        return {
            "proposals": float(population.made),
            "preference": max(chances) - 1 / len(chances) if chances else 0.0,
            "improved": float(population.is_added(best)),
            "failures": float(len(population.failures)),
            **({} if best.weight is None else {"weight": best.weight}),
        }

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
