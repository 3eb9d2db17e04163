"""Evidence of an acting mechanism: named figures of runs, and differences from the update of the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, ClassVar, NamedTuple

import pydantic

from handaxe.core.errors import InputError
from handaxe.evaluation.claim_figures import ClaimFigures

__all__ = ["ActFigure", "Activation", "ActivationStep", "SeenAct", "require_acts"]

ROUNDING = 1e-6
"""Largest update angle that rounding explains."""


@dataclass(frozen=True, kw_only=True)
class ActFigure:
    """Figure of an acting mechanism.

    Args:
        figure: of evaluations, or "training/NAME" of the training steps.
        at_least: least value of the figure, > 0.

    Raises:
        InputError: a figure without name, or a least value of 0 or less.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(extra="forbid")
    figure: str
    at_least: float

    def __post_init__(self) -> None:
        if not self.figure or not (isfinite(self.at_least) and self.at_least > 0):
            raise InputError(f"an act is a figure and a least value above 0, not {self.figure!r} and {self.at_least:g}")


class SeenAct(NamedTuple):
    """An act with the mean of its figure over runs, NaN for a figure without values."""

    figure: str
    at_least: float
    seen: float

    @property
    def obstacle(self) -> str:
        """One sentence if the figure is below its least value, "" otherwise."""
        if self.seen >= self.at_least:
            return ""
        return f"the mechanism did not act ({self.figure} {self.seen:.3f}, at least {self.at_least:g})"


class ActivationStep(NamedTuple):
    """Difference of a method from its base at a training step, from the same weights and on the same played groups.

    step              number of the step, from 1
    update_angle      1 - cosine of the parameter updates, 0 to 2; NaN if the base cannot update on the groups
    batch_difference  share of trained tokens with another weight or presence, or of rollouts beyond the base
    reason            of a NaN, "" otherwise
    """

    step: int
    update_angle: float
    batch_difference: float
    reason: str = ""


class Activation(NamedTuple):
    """Differences of a method from its base at the first, middle and last step of a run.

    base    name of the base
    steps   the measured steps, in order
    beside  parts outside of the training loop, without a counterpart in the base: closing stages, the rollout strategy
            of evaluations, and, without a trained token, learners
    """

    base: str
    steps: tuple[ActivationStep, ...]
    beside: tuple[str, ...] = ()

    @property
    def acts(self) -> bool:
        """True unless both figures are 0 at every step. A NaN counts as a difference."""
        differs = [
            one.batch_difference > 0 or one.update_angle > ROUNDING or isnan(one.update_angle) for one in self.steps
        ]
        return any(differs) or bool(self.beside)

    @property
    def obstacle(self) -> str:
        """One sentence if the method does not act, "" otherwise."""
        if self.acts:
            return ""
        steps = ", ".join(str(one.step) for one in self.steps)
        return f"the mechanism did not act (update and batch equal those of {self.base} at steps {steps})"

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Activation:
        """Parse the JSON of a stored activation, with null for NaN."""
        steps = tuple(
            ActivationStep(one["step"], _number(one["update_angle"]), _number(one["batch_difference"]), one["reason"])
            for one in body["steps"]
        )
        return cls(body["base"], steps, tuple(body["beside"]))

    def to_json(self) -> dict[str, Any]:
        """The activation as mappings and lists."""
        return {**self._asdict(), "steps": [one._asdict() for one in self.steps]}


def require_acts(figures: ClaimFigures, acts: Sequence[SeenAct], activation: Activation | None = None) -> ClaimFigures:
    """Return the figures of a claim with an obstacle if the mechanism did not act.

    Args:
        figures: of `measure_claim`.
        acts: of `methods.activation.seen_acts`.
        activation: of `methods.activation.measure_activation`; None without a measurement.

    Example:
        SeenAct("training/loss/clip_fraction", 0.001, 0.0) -> the claim is not testable
    """
    found = [one.obstacle for one in acts] + ([] if activation is None else [activation.obstacle])
    obstacle = next((one for one in found if one), "")
    return figures._replace(obstacle=obstacle) if obstacle else figures


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
