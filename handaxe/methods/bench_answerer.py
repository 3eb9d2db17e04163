"""Answerers of judges on a bench; heads and trained judges learn on training tasks of the bench."""

from __future__ import annotations

from typing import Any

from handaxe import engines
from handaxe.asking.ask import Answerer, Ask
from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.evaluation.judge_benches import JudgeBench
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.judge_source import make_answerer
from handaxe.methods.teach_judge import Labelled, balanced
from handaxe.models.load import load
from handaxe.training.stages.context import make_site

__all__ = ["bench_answerer"]

LABELS_OF_A_TASK = 4
"""Chosen questions of a task: one with the rare answer, and at most three others."""


def bench_answerer(source: str, bench: JudgeBench, *, model: str, labels: int, seed: int) -> Answerer:
    """Make the answerer of a source.

    Args:
        source: see `methods.judge_source`; not the rule.
        bench: has the questions that teach a head or a trained judge, about tasks of its training split.
        model: policy of the sources self, self@start and trained; "" for the other sources.
        labels: labelled questions at most, see `teach_judge.balanced`.
        seed: of the training tasks.

    Raises:
        InputError: the model cannot be loaded, or the questions cannot teach it.

    Example:
        bench_answerer("head:tiny", find_bench("steps"), model="", labels=512, seed=0).answer([ask])
    """
    policy = load(model) if model else None
    engine: Any = engines.LocalEngine(policy.model) if policy is not None else None
    format: Any = policy.format if policy is not None else None
    made: Any = make_answerer(source, engine, format)
    if isinstance(made, TaughtAnswerer):
        made.begin(engine)
        asks, answers = _lessons(made, bench, labels, seed)
        made.teach(make_site(engine=engine, format=format, seed=seed, progress=False), asks, answers)
    elif source.startswith("head:"):
        made.fit(*_lessons(made, bench, labels, seed))
    return made  # type: ignore[no-any-return]


def _lessons(made: Answerer, bench: JudgeBench, labels: int, seed: int) -> tuple[list[Ask], list[str]]:
    """Questions about training tasks, and their answers."""
    desk = AskDesk(made)
    found = list[Labelled]()
    for item in bench.make("train", max(1, labels // LABELS_OF_A_TASK), seed):
        for question in item.questions:
            ask = question.ask(desk)
            yes, no = ask.prompt.labels
            found.append((ask, yes if question.correct else no))
    if not found:
        raise InputError(f"bench {bench.name} has no training task, so no judge can learn there: give more lines")
    chosen = balanced(found, most=labels)
    return [ask for ask, _ in chosen], [label for _, label in chosen]
