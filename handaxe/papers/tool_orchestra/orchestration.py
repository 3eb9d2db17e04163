"""World `routing` with a vector of preferences for each task."""

from __future__ import annotations

import random
from dataclasses import replace

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.routing.desk import CALCULATOR, EXPERTS, PYTHON
from handaxe.worlds.routing.world import routing
from handaxe.worlds.world import Split, World

__all__ = ["orchestration"]

COST, SECONDS = "cost", "seconds"
WANTED = (COST, SECONDS, CALCULATOR, PYTHON)
TENTHS = (9, 5)
"""Weights in tenths of the first and the second wish; all others are 0."""


def orchestration(*, easy: float = 0.45, text: float = 0.1) -> World:
    """Questions of `routing` for users with two wishes of different weight among cost, time, calculator and python.

        P = {outcome: 1, first wish: 0.9, second wish: 0.5, all others: 0}

    The wishes are drawn per task and stated in the question in tenths. An auxiliary policy named "small" answers for
    the small model.

    Args:
        easy, text: shares of questions, as in `routing`.

    Returns:
        A world broken down by "difficulty", "dear", "like" (the first wish) and "second". Gauges: cost_per_correct;
        shares of calls by tool; liked and seconded (share of calls to the tool that is the first or second wish, in
        tasks with such a wish).

    Raises:
        InputError: shares out of range.

    Example:
        "7*8=? small 2 calculator 8 python 4 want python 9 cost 5"

    Paper: arXiv:2511.21689 (ToolOrchestra), preference vectors in [0, 1] over tools, outcome, cost and latency.
    Differs: two wishes of fixed weights in key words, where the paper has instructions in sentences.
    """
    made = routing(easy=easy, text=text)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [
            _with_wishes(one, random.Random(derive_seed("wishes", one.id))) for one in made.tasks(split, count, seed)
        ]

    shares = {name: made.gauges[name] for name in ("cost_per_correct", *(f"{expert}_share" for expert in EXPERTS))}
    return replace(
        made,
        name="orchestration",
        tasks=tasks,
        breakdown=("difficulty", "dear", "like", "second"),
        gauges={**shares, "liked": _granted("like"), "seconded": _granted("second")},
    )


def _with_wishes(one: Task, rng: random.Random) -> Task:
    first, second = rng.sample(WANTED, 2)
    weights = dict(zip((first, second), TENTHS, strict=True))
    preference = {name: weights.get(name, 0) / 10 for name in (COST, SECONDS, *EXPERTS)} | {"outcome": 1.0}
    stated = " ".join(f"{name} {tenths}" for name, tenths in weights.items())
    text = one.messages[0].content
    message = Message("user", f"{text} want {stated}")
    metadata = {**one.metadata, "like": first, "second": second, "preference": preference}
    return replace(one, messages=(message,), metadata=metadata)


def _granted(key: str) -> RatioMetric:
    def calls(one: Trajectory) -> float:
        return float(sum(call.name == one.task.metadata[key] for call in one.calls))

    return RatioMetric(
        lambda one, _: calls(one), lambda one, _: float(len(one.calls)) * (one.task.metadata[key] in EXPERTS)
    )
