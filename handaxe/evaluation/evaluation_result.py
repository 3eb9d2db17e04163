"""Result of an evaluation as data: results of tasks, estimates over tasks, and JSON of both."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf, isfinite, nan
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.html_table import html_table
from handaxe.core.metrics import TaskResult
from handaxe.evaluation.estimates import Estimate

__all__ = ["Evaluation"]

FORMAT = 1


@dataclass(frozen=True)
class Evaluation:
    """An evaluation.

    tasks      result of each task
    metrics    name -> estimate over all tasks: pass@1, reward, calls, tool_productivity, ... (estimates.columns)
    endings    "completed", "truncated(turns)", "infra_error", ... -> share of all rollouts
    breakdown  metadata key -> value of that key, as text -> metrics of those tasks
    excluded   number of rollouts that ended as infra_error or verifier_error: never scored, in no metric
    settings   options of the evaluation: samples, seed, sampling, level, ... (JSON)
    """

    tasks: tuple[TaskResult, ...]
    metrics: Mapping[str, Estimate]
    endings: Mapping[str, Estimate]
    breakdown: Mapping[str, Mapping[str, Mapping[str, Estimate]]]
    excluded: Mapping[str, int]
    settings: Mapping[str, Any]

    def flat(self) -> dict[str, float]:
        """Name -> number, for loggers: metrics, "endings/..." shares and "excluded/..." counts. No breakdown."""
        out = {name: found.value for name, found in self.metrics.items()}
        out |= {f"endings/{name}": found.value for name, found in self.endings.items()}
        return out | {f"excluded/{name}": float(count) for name, count in self.excluded.items()}

    def to_json(self) -> str:
        """Everything as JSON; infinite and missing numbers (an open end of an interval) are null."""
        body = {
            "format": FORMAT,
            "tasks": [asdict(one) for one in self.tasks],
            "metrics": _plain(self.metrics),
            "endings": _plain(self.endings),
            "breakdown": {
                key: {value: _plain(found) for value, found in by.items()} for key, by in self.breakdown.items()
            },
            "excluded": dict(self.excluded),
            "settings": dict(self.settings),
        }
        return json.dumps(body, indent=1, allow_nan=False)

    def _repr_html_(self) -> str:
        """Metrics, then the first metric by breakdown, then endings."""
        first = next(iter(self.metrics), "")
        found = dict(self.metrics)
        for key, by in self.breakdown.items():
            found |= {f"{first}, {key} {value}": own[first] for value, own in by.items() if first in own}
        found |= {f"endings/{name}": share for name, share in self.endings.items()}
        rows = [[name, one.value, f"[{one.low:.4g}, {one.high:.4g}]", one.tasks] for name, one in found.items()]
        excluded = [f"{count} {name} excluded" for name, count in self.excluded.items() if count]
        level = f"{self.settings['level']:.0%} intervals" if "level" in self.settings else ""
        caption = ", ".join([f"{len(self.tasks)} tasks", *filter(None, [level]), *excluded])
        return html_table(["metric", "value", "interval", "tasks"], rows, caption=caption)

    @classmethod
    def from_json(cls, text: str) -> "Evaluation":
        """Parse the output of `to_json`.

        Raises:
            InputError: the text is no evaluation.
        """
        try:
            body = json.loads(text)
            if body["format"] != FORMAT:
                raise InputError(f"this evaluation has format {body['format']}; this version reads {FORMAT}")
            return cls(
                tasks=tuple(TaskResult(**one) for one in body["tasks"]),
                metrics=_estimates(body["metrics"]),
                endings=_estimates(body["endings"]),
                breakdown={
                    key: {value: _estimates(found) for value, found in by.items()}
                    for key, by in body["breakdown"].items()
                },
                excluded=body["excluded"],
                settings=body["settings"],
            )
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise InputError(f"this is not an evaluation written by handaxe: {error}") from error


def _plain(found: Mapping[str, Estimate]) -> dict[str, dict[str, float | None]]:
    return {
        name: {key: value if isfinite(value) else None for key, value in one._asdict().items()}
        for name, one in found.items()
    }


def _estimates(found: Mapping[str, Any]) -> dict[str, Estimate]:
    return {name: _estimate(one) for name, one in found.items()}


def _estimate(one: Mapping[str, Any]) -> Estimate:
    value = one["value"]
    low = one["low"]
    high = one["high"]
    return Estimate(
        nan if value is None else value, -inf if low is None else low, inf if high is None else high, one["tasks"]
    )
