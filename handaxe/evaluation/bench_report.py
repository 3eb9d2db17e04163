"""All figures of one judge on a bench: over tasks with all answers, by kind of error, and as the choice of the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.evaluation.agreement_stats import Figure
from handaxe.evaluation.bench_items import BenchItem, labels_of
from handaxe.evaluation.bench_scores import BenchForm, bench_figures
from handaxe.evaluation.best_of import best_of_figures

__all__ = ["bench_report", "kind_figures"]

Answered = Sequence[tuple[BenchItem, np.ndarray]]


def bench_report(
    form: BenchForm, chances: Sequence[np.ndarray], items: Sequence[BenchItem], *, best_of: int = 0
) -> dict[str, Any]:
    """Figures of a judge, and counts of questions. A task with an unanswered question is in no figure.

    Args:
        form: of the bench.
        chances: [N] probabilities of each task, NaN for a question without an answer.
        items: tasks of the bench.
        best_of: last n of the curves of `best_of_figures`, 0 for no curve.

    Returns:
        Name -> figure as a dict of value, low and high; main, the name of the first figure; tasks, questions,
        unanswered and coverage. Where questions have kinds, "kinds": kind -> pair accuracy. With `best_of`, "best_of":
        judge, oracle and mean -> figures for n = 1, 2, ...

    Example:
        bench_report(ANSWERS, [np.array([0.9, 0.1]), np.array([0.5, nan])], items)  ->  pair 1 of 1 task, coverage 0.75
    """
    answered = [(item, chance) for item, chance in zip(items, chances, strict=True) if not np.isnan(chance).any()]
    scored = [(chance, labels_of(item)) for item, chance in answered]
    names = [item.task for item, _ in answered]
    questions = sum(len(item.questions) for item in items)
    unanswered = int(sum(np.isnan(chance).sum() for chance in chances))
    report: dict[str, Any] = {name: one._asdict() for name, one in bench_figures(form, scored, task=names).items()}
    report |= {
        "main": form.main,
        "tasks": len(answered),
        "questions": questions,
        "unanswered": unanswered,
        "coverage": 1 - unanswered / questions if questions else float("nan"),
    }
    if kinds := kind_figures(form, answered):
        report["kinds"] = {kind: one._asdict() for kind, one in kinds.items()}
    if best_of:
        curves = best_of_figures(scored, most=best_of, task=names)
        report["best_of"] = {name: [one._asdict() for one in curve] for name, curve in curves.items()}
    return report


def kind_figures(form: BenchForm, answered: Answered) -> dict[str, Figure]:
    """Pair accuracy against the wrong texts of one kind of error alone; {} for questions without kinds.

    Example:
        0.9 of the right call, 0.2 without an argument, 0.95 with a wrong value  ->  missing 1, value 0
    """
    kinds = dict.fromkeys(one.kind for item, _ in answered for one in item.questions if one.kind)
    return {kind: _pair_accuracy(form, answered, kind) for kind in kinds}


def _pair_accuracy(form: BenchForm, answered: Answered, kind: str) -> Figure:
    chosen, names = list[tuple[np.ndarray, np.ndarray]](), list[str]()
    for item, chance in answered:
        own = np.array([one.kind in ("", kind) for one in item.questions])
        if any(one.kind == kind for one in item.questions):
            chosen.append((chance[own], labels_of(item)[own]))
            names.append(item.task)
    return bench_figures(form, chosen, task=names)["pair"]
