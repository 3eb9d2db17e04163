"""Figures of a run over steps, for claims, comparisons and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.evaluation.estimates import columns
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.ops.stats import ratio
from handaxe.training.record.run_record import RunRecord
from handaxe.training.stages.run_stages import stage_metrics

__all__ = ["Axis", "RunFigures", "STAGES", "Series", "TRAINING", "evaluations", "run_figures"]

Axis = Literal["steps", "tokens", "calls", "seconds"]
PHASES = ("sampling", "reward", "credit", "learning", "update")
TRAINING = "training/"
STAGES = "stages/"
SPENT: dict[str, str] = {"tokens": "tokens/sampled", "calls": "calls/made"}
"""Training metric whose sum over steps is the axis."""
TOTALS: dict[str, tuple[str, str]] = {
    "tokens_per_second": ("tokens/sampled", "seconds"),
    "trained_tokens_per_second": ("tokens/trained", "seconds"),
    "step_seconds": ("seconds", ""),
}
"""Training figures of a whole run: numerator and denominator, summed over the steps; "" is the number of steps."""


class Series(NamedTuple):
    """A figure along a run: the axis [P], ascending, and the values [P]."""

    axis: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class RunFigures:
    """The figures of a run.

    metrics      one mapping a step, as in the run record
    evaluations  steps done -> the evaluation then
    stages       rows of stages before and after the steps, by name, see `training.stages.run_stages.stage_metrics`
    """

    metrics: Sequence[Mapping[str, float]]
    evaluations: Mapping[int, Evaluation]
    stages: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)

    def series(self, metric: str, *, where: tuple[str, Any] | tuple[()] = (), axis: Axis = "steps") -> Series:
        """A figure along the run.

        Args:
            metric: of evaluations, such as "calls"; "training/NAME", of each step, such as "training/entropy"; or
                "stages/STAGE/NAME", of each row of a stage, such as "stages/prefer/pairs", which has no other axis
                than the number of the row.
            where: (metadata key, value): of the held-out tasks with that value only.
            axis: steps done, or cumulative tokens sampled, calls made or seconds.

        Raises:
            InputError: the run has no such figure (the message lists its figures), or no evaluation.
        """
        if metric.startswith(STAGES):
            return self._of_stage(metric.removeprefix(STAGES))
        if metric.startswith(TRAINING):
            steps, values = self._of_steps(metric.removeprefix(TRAINING))
        else:
            steps = sorted(self.evaluations)
            if not steps:
                raise InputError(f"this run was never evaluated, so it has no {metric}: give it 1 step or more")
            values = [self._of_evaluation(self.evaluations[step], metric, where) for step in steps]
        spent = self.spent(axis)
        return Series(np.array([spent[step] for step in steps], dtype=np.float64), np.array(values, dtype=np.float64))

    def spent(self, axis: Axis) -> np.ndarray:
        """[steps + 1]: cumulative use of the axis after each number of steps."""
        if axis == "steps":
            each = np.ones(len(self.metrics))
        elif axis == "seconds":
            each = self._seconds()
        else:
            each = np.array(self._of_steps(SPENT[axis])[1])
        return np.concatenate([[0.0], np.cumsum(each)])

    def _seconds(self) -> np.ndarray:
        return np.array([sum(row.get(f"seconds/{phase}", 0.0) for phase in PHASES) for row in self.metrics])

    def _of_steps(self, name: str) -> tuple[list[int], list[float]]:
        if name in TOTALS:
            top, bottom = TOTALS[name]
            over = self._summed(bottom) if bottom else len(self.metrics)
            return [len(self.metrics)], [self._summed(top) / over]
        known = sorted({key for row in self.metrics for key in row})
        if name not in known:
            raise InputError(f"no step of this run has the figure {TRAINING}{name}; its figures are {', '.join(known)}")
        found = [(step + 1, float(row[name])) for step, row in enumerate(self.metrics) if name in row]
        return [step for step, _ in found], [value for _, value in found]

    def _of_stage(self, name: str) -> Series:
        """Values of a stage's rows; none if the stage is not there, or took no step."""
        stage, _, key = name.partition("/")
        rows = self.stages.get(stage, ())
        values = [float(row[key]) for row in rows if key in row]
        if rows and not values:
            known = sorted({key for row in rows for key in row})
            raise InputError(f"no row of the stage {stage} has the figure {key!r}; its figures are {', '.join(known)}")
        return Series(np.arange(1.0, len(values) + 1), np.array(values, dtype=np.float64))

    def _summed(self, name: str) -> float:
        return float(self._seconds().sum() if name == "seconds" else np.sum(self._of_steps(name)[1]))

    def _of_evaluation(self, found: Evaluation, metric: str, where: tuple[str, Any] | tuple[()]) -> float:
        if not where:
            if metric not in found.metrics:
                raise InputError(f"evaluations have no {metric!r}; their metrics are {', '.join(found.metrics)}")
            return found.metrics[metric].value
        key, wanted = where
        tasks = [one for one in found.tasks if str(one.metadata.get(key)) == str(wanted)]
        if not tasks:
            raise InputError(f"none of the {len(found.tasks)} held-out tasks has {key} {wanted!r}")
        all_columns = columns(tasks, ks=found.settings.get("ks", (1,)))
        if metric not in all_columns:
            raise InputError(f"{metric!r} is not defined for a part of the tasks; there are {', '.join(all_columns)}")
        column = all_columns[metric]
        return ratio(column.top_T[column.usable_T], column.bottom_T[column.usable_T])


def run_figures(record: RunRecord) -> RunFigures:
    """Metrics of steps and stages, and evaluations, of a record."""
    return RunFigures(record.metrics(), evaluations(record), stage_metrics(record.folder))


def evaluations(record: RunRecord) -> dict[int, Evaluation]:
    """Steps done -> evaluation, of the complete evaluations of a record."""
    found = {step: result.get("evaluation") for step, result in record.evaluations().items()}
    return {step: Evaluation.from_json(text) for step, text in found.items() if isinstance(text, str)}
