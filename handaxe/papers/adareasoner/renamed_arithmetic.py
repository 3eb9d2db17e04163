"""Arithmetic with task-specific tool names, and a second tool that never helps."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.adareasoner.renamed_tools import NAMES, rename_tasks, renamed_tools
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts import arithmetic_tasks
from handaxe.worlds.parts.call_metrics import USED_TOOLS
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.mistakes import add_mistakes
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["clock", "renamed_arithmetic"]

START = Start(
    DemonstrationNoise(call_rate=0.9, corrupt_rate=0.1), skill=360, steps=15, batch_size=16, learning_rate=2e-3
)


@tool(timeout=None)
def clock() -> str:
    """Say what time it is."""
    return "12:00"


SCHEMAS = (calculator.schema, clock.schema)


def renamed_arithmetic(*, train: float = 1.0, test: float = 0.5, distracted: float = 0.5) -> World:
    """Sums, differences and products of two or three digits, with a calculator and a clock, which never helps.

    Names of the tools and of the calculator's parameter are drawn per task, for a share of the tasks: see
    `papers.adareasoner.renamed_tools`. The calculator is the tool with an argument.

    Args:
        train: share of training tasks with drawn names, 0 to 1.
        test: share of test tasks with drawn names, none of which occurs in a training task.
        distracted: share of tasks in which the expert calls the clock before the calculator.

    Returns:
        A world broken down by "renamed" (yes or no), with gauges used_tools and decoy (share of rollouts with a call of
        the clock). Reference calls and expert use the task's names. The start policy is trained on demonstrations of
        the distracted expert on training tasks, with their names.

    Raises:
        InputError: a share out of range, when tasks are made or the expert acts.

    Example:
        tools f4(p8) and k2(), "12*34=?": the call f4("12*34") returns "408"
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        made = arithmetic_tasks.tasks(count=count, seed=seed, split=split, easy=0.0, phrasings=("{0}=?",))
        return rename_tasks(made, tools=SCHEMAS, share=train if split == "train" else test, split=split, digits=1)

    return replace(
        arithmetic(easy=0.0),
        name="renamed_arithmetic",
        tasks=tasks,
        env=lambda tools: renamed_tools(tool_chat(tools)),
        tools=(calculator, clock),
        breakdown=("renamed",),
        expert=_expert(distracted),
        start=START,
        gauges={"used_tools": USED_TOOLS, "decoy": RatioMetric(lambda one, outcome: float(_calls_clock(one)))},
    )


def _expert(distracted: float) -> Expert:
    """The expert that calls an offered clock first in a share of the tasks."""
    focused = calls_then_answer(_calls)
    with_clock = add_mistakes(focused, wrong=_clock_call, share=distracted)

    def expert(task: Task, facts: Facts) -> Message:
        return (with_clock if _name_in(task, clock.schema.name) in facts["tools"] else focused)(task, facts)

    return expert


def _clock_call(task: Task, call: ToolCall, rng: random.Random) -> ToolCall:
    del call, rng
    return ToolCall(_name_in(task, clock.schema.name), {})


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    return [call for call in reference_calls(task) if call.name in facts["tools"]]


def _calls_clock(one: Trajectory) -> bool:
    return any(call.name == _name_in(one.task, clock.schema.name) for call in one.calls)


def _name_in(task: Task, name: str) -> str:
    return task.metadata[NAMES].get(name, name)
