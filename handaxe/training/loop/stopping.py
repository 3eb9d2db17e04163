"""Rules that end a run before its last step: conditions on metrics, and patience.

    pass@1>=0.9                 a metric of evaluations
    training/reward>0.95        a metric of training steps

A decision depends on recorded metrics alone, so that a resumed run stops at the same step.
"""

import difflib
import math
import operator
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["Condition", "RunStop", "parse_condition"]

FORM = re.compile(r"\s*([\w@^()./-]+)\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
TRAINING = "training/"
EVALUATION = "eval/"


class Condition(NamedTuple):
    """A metric, one of >=, <=, > and <, and a bound. Metrics of training steps are named training/NAME."""

    metric: str
    comparison: str
    bound: float

    @property
    def evaluated(self) -> bool:
        """True for a metric of evaluations."""
        return not self.metric.startswith(TRAINING)

    @property
    def key(self) -> str:
        """Name of the metric among the metrics of a step."""
        return EVALUATION + self.metric if self.evaluated else self.metric.removeprefix(TRAINING)

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Return True if the condition holds. A step without evaluation fulfils no condition on an evaluation.

        Raises:
            InputError: the metric does not exist.
        """
        if self.key in metrics:
            return bool(COMPARISONS[self.comparison](metrics[self.key], self.bound))
        names = [name for name in metrics if name.startswith(EVALUATION) == self.evaluated and name != "step"]
        if not names or metrics.get("nothing_to_train"):
            return False
        kind, prefix = ("evaluation", EVALUATION) if self.evaluated else ("training step", "")
        raise _unknown(self.metric, kind, [name.removeprefix(prefix) for name in names])

    def __str__(self) -> str:
        return f"{self.metric}{self.comparison}{self.bound:g}"


def parse_condition(text: str) -> Condition:
    """Parse a condition. Nothing is evaluated as code.

    Raises:
        InputError: the text has another form.

    Example:
        parse_condition("pass@1 >= 0.9") -> Condition("pass@1", ">=", 0.9)
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is no condition: write a metric, one of >= <= > <, and a number, as 'pass@1>=0.9'")
    return Condition(found[1], found[2], float(found[3]))


@dataclass(frozen=True, kw_only=True)
class RunStop:
    """Ends a run before its last step.

    Args:
        conditions: the run ends at the first step at which all hold; () for none.
        patience: the run ends after this number of evaluations in a row without a new maximum of `metric`, and the
            checkpoint of the maximum is kept; 0 for never.
        metric: of evaluations.

    Raises:
        InputError: negative patience.
    """

    conditions: tuple[Condition, ...] = ()
    patience: int = 0
    metric: str = "pass@1"

    def __post_init__(self) -> None:
        if self.patience < 0:
            raise InputError(f"patience is {self.patience}; give a number of evaluations, or 0 for none")

    @property
    def evaluated(self) -> bool:
        """True if the rule depends on evaluations."""
        return self.patience > 0 or any(one.evaluated for one in self.conditions)

    def reason(self, metrics: Mapping[str, float], evaluations: Mapping[int, Mapping[str, Any]]) -> str:
        """Reason to end the run after a step, "" to continue.

        Args:
            metrics: of the step; those of an evaluation are named eval/NAME.
            evaluations: steps done -> result, up to this step.

        Raises:
            InputError: a metric does not exist.
        """
        held = [one.holds(metrics) for one in self.conditions]  # each one, to find unknown metrics
        if held and all(held):
            figures = ", ".join(f"{one.metric} is {metrics[one.key]:.4g}" for one in self.conditions)
            return f"{' and '.join(map(str, self.conditions))}: {figures}"
        best = self.best(evaluations) if self.patience else None
        if best is not None and sum(done > best for done in evaluations) >= self.patience:
            value = float(evaluations[best][self.metric])
            return f"{self.patience} evaluations without {self.metric} above {value:.4g}, reached after {best} steps"
        return ""

    def best(self, evaluations: Mapping[int, Mapping[str, Any]]) -> int | None:
        """Steps done at the first maximum of the metric; None without an evaluation.

        Raises:
            InputError: an evaluation lacks the metric.
        """
        values: dict[int, float] = {}
        for done, result in evaluations.items():
            if self.metric not in result:
                raise _unknown(self.metric, "evaluation", [name for name, one in result.items() if _is_number(one)])
            value = float(result[self.metric])
            values[done] = -math.inf if math.isnan(value) else value
        return max(sorted(values), key=lambda done: values[done]) if values else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _unknown(metric: str, kind: str, names: Collection[str]) -> InputError:
    close = difflib.get_close_matches(metric.removeprefix(TRAINING), names, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(sorted(names))}"
    return InputError(f"{metric!r} is no metric of {'an' if kind[0] == 'e' else 'a'} {kind}; {hint}")
