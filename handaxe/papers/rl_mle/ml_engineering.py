"""Machine-learning competitions: a plan becomes a program that is executed, and better programs take longer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from handaxe.core.errors import InputError, Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Reward
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.papers.rl_mle.ml_programs import (
    LANDMARKS,
    MODELS,
    SCALERS,
    SETS,
    SIZES,
    Plan,
    data,
    instrument,
    run_program,
    write_program,
)
from handaxe.rewards.outcome import outcome
from handaxe.rewards.state_match import state_match
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Studio", "landmarks", "ml_engineering", "submission_score", "submitted"]

WORTH: Mapping[str, tuple[float, float]] = MappingProxyType({"digits": (0.4, 0.92), "wine": (0.75, 0.98)})
"""Data set -> accuracies with scores 0 and 1: below a single tree, and at a hundred trees."""
NUMBERS = 10_000
GOOD = tuple(size for size in SIZES if size >= 10)
START = Start(DemonstrationNoise(corrupt_rate=0.5), skill=20, steps=30, batch_size=16, learning_rate=2e-3)


def ml_engineering(*, sets: tuple[str, ...] = SETS, rows: int = 300) -> World:
    """Classify a data set by a one-line plan: a scaler, a model, and a number of trees.

    The plan becomes a program that runs in this process, in milliseconds for one tree and a tenth of a second for a
    hundred. A submission is scored by its accuracy between two fixed accuracies of the data set. A program may fail:
    zeros in digits have no logarithm, and a forest needs trees. Prints after landmarks, inserted at run time, report
    its progress. The rollout ends after a run.

    Args:
        sets: data sets of scikit-learn: digits, wine; drawn evenly.
        rows: rows of a data set, half for training and half for test, drawn per question; 40 or more.

    Returns:
        A world for one turn, broken down by "set". The outcome is the submission's score; above 0.5 is correct.
        Gauges: submitted (share of rollouts), trees (of executed programs). `submitted` and `landmarks` are rewards.

    Raises:
        InputError: an argument out of range; scikit-learn is missing (extra [ml]), when a program is run.

    Example:
        "wine 417?": run "std forest 100" returns "accuracy 0.978", with score 0.991

    Paper: arXiv:2509.01684.
    Unconfirmed: which landmarks there are.
    Differs: the policy chooses a program's parts and does not write it, so that no sandbox is needed; a rule inserts
        the prints instead of a language model; two small data sets replace Kaggle's competitions.
    """
    if not sets or not set(sets) <= set(SETS) or rows < 40:
        raise InputError(f"sets are some of {', '.join(SETS)} and rows 40 or more, not {list(sets)} and {rows}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, sets, rows) for number in range(count)]

    return World(
        name="ml_engineering",
        tasks=tasks,
        env=_env,
        correct=outcome(submission_score),
        breakdown=("set",),
        expert=_expert,
        start=START,
        gauges={
            "submitted": RatioMetric(lambda one, right: float(_report(one).get("submitted", False))),
            "trees": RatioMetric(
                lambda one, right: float(_report(one).get("trees", 0)),
                lambda one, right: float(bool(_report(one).get("ran"))),
            ),
        },
    )


def submission_score(one: Trajectory) -> float:
    """Score the submission of a rollout, 0 to 1; 0 without a submission."""
    return float(_report(one).get("score", 0.0))


def submitted() -> Reward:
    """Create a reward of 1 for a submission with a label for every row."""
    return outcome(lambda one: float(_report(one).get("submitted", False)))


def landmarks(*, most: float = 0.1) -> Reward:
    """Create a reward of the share of reached landmarks, times `most`; see `rewards.state_match`."""
    return state_match(
        max_score=most,
        gold=lambda task: dict.fromkeys(LANDMARKS, True),
        state=lambda one: _report(one).get("landmarks", {}),
    )


def _report(one: Trajectory) -> Mapping[str, Any]:
    return one.env.get("state", {}).get("Studio", {})


def _task(split: Split, seed: int, number: int, sets: Sequence[str], rows: int) -> Task:
    rng = random.Random(derive_seed("ml_engineering", seed, split, number))
    while True:
        name, drawn = rng.choice(sets), rng.randrange(NUMBERS)
        if content_split("ml_engineering split", name, drawn) == split:
            break
    words = (Message("user", f"{name} {drawn}?"),)
    metadata = {"set": name, "number": drawn, "rows": rows}
    return Task(f"ml_engineering-{split}-{seed}-{number}", words, None, None, metadata)


class Studio:
    """Tool that writes and runs the program of a rollout."""

    def __init__(self, task: Task):
        self._task = task
        self._found: dict[str, Any] = {"ran": False, "submitted": False, "score": 0.0, "landmarks": {}, "trees": 0}

    @property
    def is_over(self) -> bool:
        """Whether a program was run."""
        return bool(self._found["ran"])

    @tool(timeout=None)
    def run(self, plan: Annotated[str, "scaler, model and number of trees, such as: std forest 10"]) -> str:
        """Run the program of a plan. There is one run."""
        if self.is_over:
            raise Retry("a program was run already, and there is one run")
        words = plan.split()
        if len(words) != 3 or not words[2].isdecimal():
            raise Retry("say a scaler, a model and a number of trees, with a space between")
        chosen = Plan(words[0], words[1], int(words[2]))
        try:
            program = instrument(write_program(chosen))
        except InputError as wrong:
            raise Retry(str(wrong)) from wrong
        metadata = self._task.metadata
        held = data(metadata["set"], number=metadata["number"], rows=metadata["rows"])
        came = run_program(program, held)
        accuracy = None if came.submitted is None else float(np.mean(came.submitted == held.test_y))
        self._found = {
            "ran": True,
            "submitted": accuracy is not None,
            "score": 0.0 if accuracy is None else _worth(metadata["set"], accuracy),
            "landmarks": {mark: mark in came.landmarks for mark in LANDMARKS},
            "trees": chosen.size,
        }
        return came.error or f"accuracy {accuracy:.3f}"

    def report(self) -> dict[str, Any]:
        """The program and its result."""
        return dict(self._found)

    def snapshot(self) -> Any:
        """The result so far."""
        return dict(self._found)

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        self._found = dict(state)


def _worth(name: str, accuracy: float) -> float:
    nothing, everything = WORTH[name]
    return float(np.clip((accuracy - nothing) / (everything - nothing), 0, 1))


class _Once(AsyncEnvWrapper):
    """Conversation with tools until a program was run."""

    def __init__(self, task: Task, tools: Sequence[Any]):
        self._studio = Studio(task)
        super().__init__(tool_chat([lambda: self._studio, *tools])(task))

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._studio.is_over)


def _env(tools: Sequence[Any]) -> EnvFactory:
    tool_chat(tools)  # raises early for bad tools

    def make(task: Task) -> Env:
        return _Once(task, tools)

    return make


def _expert(task: Task, facts: Facts) -> Message:
    """A working plan with any number of trees; the start policy knows all of them."""
    if facts["turn"] > 0:
        return Message("assistant", "done")
    rng = random.Random(derive_seed("ml_engineering expert", task.id))
    scalers = [one for one in SCALERS if one != "log" or task.metadata["set"] != "digits"]
    plan = f"{rng.choice(scalers)} {rng.choice(list(MODELS))} {rng.choice(GOOD)}"
    return Message("assistant", "", (ToolCall("run", {"plan": plan}),))
