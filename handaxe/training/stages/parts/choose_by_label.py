"""Filter and order tasks by a probe's label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.training.stages.parts.read_label import read_label

__all__ = ["choose_by_label"]

DIGITS = 9
ROUNDING = 10.0**-DIGITS


def choose_by_label(
    *,
    label: str = "probe",
    minus: str = "",
    above: float | None = None,
    below: float | None = None,
    order: Literal["given", "ascending", "descending"] = "given",
    least: int = 0,
    most: int | None = None,
    balance: Callable[[Task], Any] | None = None,
) -> Callable[[Sequence[Task]], list[Task]]:
    """Make a function of tasks for the stage `choose`: filter by a label's range, sort, balance and limit.

        x_i     = metadata_i[label], or metadata_i[label] - metadata_i[minus] where `minus` is given
        chosen  = {i : above < x_i < below}, sorted by x (ties as they were), of each kind the first n, the first `most`
        n       = number of chosen tasks of the rarest kind, where kinds are balanced

    A task with the label None (no scored rollout) is left out. Nothing trains, and tasks stay unchanged. Two rules,
    such as a range of one label and the order of another, are two stages.

    Args:
        label: key in `Task.metadata` that `probe` wrote.
        minus: a second key, whose value is subtracted: a tool's benefit is label "with", minus "without".
        above, below: exclusive bounds of x, up to rounding; None is unbounded. DeepEyes and Open-AgentRL keep 0 < x <
            1.
        order: of the chosen tasks; with `task_pool(shuffle=False)` also the order of training.
        least: minimum number of tasks: if the range has fewer, the nearest ones outside are added, for a policy that is
            always or never correct.
        most: maximum number of tasks, >= 1; None for all.
        balance: the kind of a task; each occurring kind keeps an equal number of tasks. IKEA mixes known and unknown
            facts 1:1.

    Returns:
        (tasks) -> tasks, without state.

    Raises:
        InputError: above >= below, most < 1; by the function, for a task without the label.

    Example:
        x of tasks a, b, c, d is 0, 0.25, 0.75, 1
        above=0, below=1, order="descending"  ->  c, b
        above=0.5, below=1, least=2  ->  c, d
        order="ascending", most=2  ->  a, b
        balance=lambda task: task.metadata["probe"] > 0.1  ->  a, b

    Idea: siblings that are all correct, or all incorrect, are equal and give no advantage.
    """
    if above is not None and below is not None and above >= below:
        raise InputError(f"above is {above} and below {below}: no label lies between them")
    if most is not None and most < 1:
        raise InputError(f"most is {most}; choose one task or more")

    def chosen(tasks: Sequence[Task]) -> list[Task]:
        found = [(_value(one, label, minus), one) for one in tasks]
        labelled = [(value, one) for value, one in found if value is not None]
        nearest = sorted(range(len(labelled)), key=lambda i: _outside(labelled[i][0], above, below))
        inside = [i for n, i in enumerate(nearest) if n < least or not _outside(labelled[i][0], above, below)]
        kept = [labelled[i] for i in sorted(inside)]
        if order != "given":
            sign = 1.0 if order == "ascending" else -1.0
            kept.sort(key=lambda pair: sign * round(pair[0], DIGITS))
        left = [one for _, one in kept]
        return (_balanced(left, balance) if balance else left)[:most]

    return chosen


def _value(task: Task, label: str, minus: str) -> float | None:
    value, less = read_label(task, label), read_label(task, minus) if minus else 0.0
    return None if value is None or less is None else value - less


def _outside(value: float, above: float | None, below: float | None) -> float:
    """Distance of a label from the range; 0 within, and more than 0 at its edge."""
    edges = []
    if above is not None:
        edges.append(above + ROUNDING - value)
    if below is not None:
        edges.append(value - below + ROUNDING)
    return max((edge + ROUNDING for edge in edges if edge >= 0), default=0.0)


def _balanced(tasks: Sequence[Task], kind: Callable[[Task], Any]) -> list[Task]:
    """Return the first tasks of each kind, up to the number of the rarest kind, in the given order."""
    kinds = [kind(one) for one in tasks]
    most = min((kinds.count(one) for one in kinds), default=0)
    return [task for i, task in enumerate(tasks) if kinds[:i].count(kinds[i]) < most]
