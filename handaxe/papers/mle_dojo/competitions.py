"""Machine-learning competitions: programs run in a sandbox, and submissions have a position on a leaderboard."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.mle_dojo.contest import Contest, contest
from handaxe.papers.mle_dojo.dojo import Dojo
from handaxe.rewards.outcome import outcome
from handaxe.tools.sandbox.check_sandbox import check_sandbox
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.table_data import METRICS
from handaxe.worlds.parts.table_pipelines import pipeline_source, zoo
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["best_position", "competitions", "dojo_log", "entry_code", "task_contest"]

NUMBERS: Mapping[Split, range] = {"train": range(4), "test": range(4, 6)}
GOOD = 0.6
"""Least position score of the expert's last program."""
START = Start(skill=100, steps=0, batch_size=8, learning_rate=3e-3)
CONTEXT = 1024


def competitions(*, sets: tuple[str, ...] = tuple(METRICS), rows: int = 240) -> World:
    """Predict the test rows of a table by programs, with the leaderboard of fitted pipelines as the scale.

    A program runs in a bubblewrap sandbox with scikit-learn and the competition's tables, without test labels. Tools:
    request_info, validate_code, execute_code, get_history and reset. A rollout's outcome is the position score of its
    best submission; above 0.5 is correct.

    Args:
        sets: data sets of scikit-learn: iris, wine, cancer, digits (accuracy) and diabetes (rmse); drawn evenly.
        rows: rows of training, public test and private test together, 48 or more.

    Returns:
        A world broken down by "set". Gauges: exec_errors (share of failed executions), executions and validations (a
        rollout). Four draws of each data set are in train and two in test; longer task lists repeat them.

    Raises:
        InputError: an argument out of range; bubblewrap or scikit-learn (extras [sandbox], [ml]) is missing when a
            competition is played.

    Example:
        "wine 2?": execute_code("enter(SimpleImputer(), StandardScaler(), SVC(C=1))") returns
        "accuracy 0.975 position 0.90 best 0.90"

    Paper: arXiv:2505.07782 (MLE-Dojo).
    Differs: small tables replace Kaggle's competitions, and leaderboards hold 30 fitted pipelines; `submit` and `enter`
        replace the file submission.csv; a submission is scored on public and private rows, each with its leaderboard.
    """
    if not sets or not set(sets) <= set(METRICS) or rows < 48:
        raise InputError(f"sets are some of {', '.join(METRICS)} and rows 48 or more, not {list(sets)} and {rows}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, sets, rows) for number in range(count)]

    return World(
        name="competitions",
        tasks=tasks,
        env=_env,
        correct=outcome(best_position),
        breakdown=("set",),
        expert=_expert,
        start=START,
        start_context=CONTEXT,
        gauges={
            "exec_errors": RatioMetric(
                lambda one, _: float(sum(bool(row["error"]) for row in _rows(one, "execute"))),
                lambda one, _: float(len(_rows(one, "execute"))),
            ),
            "executions": RatioMetric(lambda one, _: float(len(_rows(one, "execute")))),
            "validations": RatioMetric(lambda one, _: float(len(_rows(one, "validate")))),
        },
    )


def best_position(one: Trajectory) -> float:
    """Position score of the best submission since the last reset; 0 without one."""
    return float(_report(one).get("best_position") or 0.0)


def dojo_log(one: Trajectory) -> list[dict[str, Any]]:
    """Actions of a rollout with call, action, code, error, raw and position."""
    return list(_report(one).get("log", ()))


def task_contest(task: Task) -> Contest:
    """The competition of a task."""
    return contest(task.metadata["set"], task.metadata["number"], task.metadata["rows"])


def entry_code(source: str) -> str:
    """Program that submits a pipeline with these steps."""
    return f"enter({source})"


def _report(one: Trajectory) -> Mapping[str, Any]:
    return one.env.get("state", {}).get("Dojo", {})


def _rows(one: Trajectory, action: str) -> list[dict[str, Any]]:
    return [row for row in dojo_log(one) if row["action"] == action]


def _task(split: Split, seed: int, number: int, sets: Sequence[str], rows: int) -> Task:
    rng = random.Random(derive_seed("competitions", seed, split, number))
    name = rng.choice(sets)
    drawn = rng.choice(NUMBERS[split])
    metadata = {"set": name, "number": drawn, "rows": rows}
    return Task(f"competitions-{split}-{seed}-{number}", (Message("user", f"{name} {drawn}?"),), None, None, metadata)


def _env(tools: Sequence[Any]) -> EnvFactory:
    tool_chat(tools)  # raises early for bad tools

    def make(task: Task) -> Env:
        check_sandbox()
        return tool_chat([lambda: Dojo(task_contest(task)), *tools])(task)

    return make


def _expert(task: Task, facts: Facts) -> Message:
    """A random short program, validated and executed, then a program from the upper part of the leaderboard."""
    if facts["turn"] > 2:
        return Message("assistant", "done")
    own = task_contest(task)
    rng = random.Random(derive_seed("competitions expert", task.id, facts["turn"] // 2))
    short = [choice for choice in zoo() if choice.features == "all" and choice.model != "forest"]
    good = [choice for choice in short if own.rank(choice) >= GOOD]
    choice = rng.choice(good if facts["turn"] == 2 and good else short)
    code = entry_code(pipeline_source(choice, regression=not own.higher))
    name = "validate_code" if facts["turn"] == 0 else "execute_code"
    return Message("assistant", "", (ToolCall(name, {"code": code}),))
