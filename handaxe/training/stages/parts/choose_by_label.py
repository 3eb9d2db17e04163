"""Chooses tasks by what a probe labelled them with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.training.stages.parts.label_of import label_of

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
    """Make a function of tasks for the stage `choose`: those within a range of a label, in an order, at most so many.

        x_i     = metadata_i[label], or metadata_i[label] - metadata_i[minus] where `minus` is given
        chosen  = {i : above < x_i < below}, sorted by x (ties as they were), of each kind the first n, the first `most`
        n       = number of chosen tasks of the rarest kind, where kinds are balanced

    A task whose label is None, since none of its attempts was scored, is left out. Nothing trains, and nothing of a
    task is changed. Two rules, such as a range of one label and the order of another, are two stages.

    Args:
        label: the key in `Task.metadata` that `probe` wrote.
        minus: a second such key, whose value is taken off: what a tool adds is label "with", minus "without".
        above, below: bounds that x keeps strictly within, up to rounding; None for no such bound. DeepEyes and
            Open-AgentRL keep 0 < x < 1.
        order: of the chosen; see `task_pool(shuffle=False)` where it is to be that of training too.
        least: how many are let through at least: where fewer lie in the range, those nearest to it are too, for a
            policy that is right on all or on none.
        most: how many are kept at most, >= 1; None for all.
        balance: the kind of a task; as many tasks are kept of each kind that is there. IKEA mixes what is known and
            what is not 1:1.

    Returns:
        (tasks) -> tasks, without state.

    Raises:
        InputError: above >= below, most < 1; by the function, for a task that was never labelled so.

    Example:
        x of tasks a, b, c, d is 0, 0.25, 0.75, 1
        above=0, below=1, order="descending"  ->  c, b
        above=0.5, below=1, least=2  ->  c, d
        order="ascending", most=2  ->  a, b
        balance=lambda task: task.metadata["probe"] > 0.1  ->  a, b

    Idea: where every attempt is right, or none, the siblings are equal and nothing is learned.
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
    value, less = label_of(task, label), label_of(task, minus) if minus else 0.0
    return None if value is None or less is None else value - less


def _outside(value: float, above: float | None, below: float | None) -> float:
    """How far a label is from the range; 0 within, and more than 0 at its edge."""
    edges = []
    if above is not None:
        edges.append(above + ROUNDING - value)
    if below is not None:
        edges.append(value - below + ROUNDING)
    return max((edge + ROUNDING for edge in edges if edge >= 0), default=0.0)


def _balanced(tasks: Sequence[Task], kind: Callable[[Task], Any]) -> list[Task]:
    """The first tasks of each kind, as many as there are of the rarest one, in the order given."""
    kinds = [kind(one) for one in tasks]
    most = min((kinds.count(one) for one in kinds), default=0)
    return [task for i, task in enumerate(tasks) if kinds[:i].count(kinds[i]) < most]
