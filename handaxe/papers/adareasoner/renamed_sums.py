"""Arithmetic with a calculator that is called otherwise in every task, beside a tool that is of no use."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.adareasoner.renamed_tools import NAMES, rename, renamed_tools
from handaxe.rewards.answer_score import answer_score
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.parts.call_metrics import USED_TOOLS
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.mistakes import with_mistakes
from handaxe.worlds.sums import kept_calls, states_number
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["clock", "renamed_sums"]

START = Start(DemonstrationNoise(needed=0.9, clumsy=0.1), skill=360, steps=15, batch_size=16, learning_rate=2e-3)


@tool(timeout=None)
def clock() -> str:
    """Say what time it is."""
    return "12:00"


SCHEMAS = (calculator.schema, clock.schema)


def renamed_sums(*, train: float = 1.0, test: float = 0.5, distracted: float = 0.5) -> World:
    """Sums, differences and products of two or three digits, with a calculator and a clock, which helps with none.

    What the tools and the calculator's parameter are called is drawn for each task of the share that is renamed: see
    `papers.adareasoner.renamed_tools`. The calculator is the one that takes an argument.

    Args:
        train: share of training tasks with names of their own, 0 to 1.
        test: share of test tasks with such names, none of which a training task has.
        distracted: share of tasks in which the expert looks at the clock before it calculates.

    Returns:
        A world broken down by "renamed" (yes or no), with gauges used_tools and decoy (share of attempts that call the
        clock). Reference calls and expert use the task's own names. The policy that training starts from learned from
        training tasks, with the names that these have, and from an expert who is distracted.

    Raises:
        InputError: a share out of range, when tasks are made or the expert speaks.

    Example:
        tools f4(p8) and k2(), "12*34=?": the call f4("12*34") is answered "408"
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        made = arithmetic.tasks(count=count, seed=seed, split=split, easy=0.0, phrasings=("{0}=?",))
        return rename(made, tools=SCHEMAS, share=train if split == "train" else test, split=split, digits=1)

    return World(
        name="renamed_sums",
        tasks=tasks,
        env=lambda tools: renamed_tools(tool_chat(tools)),
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer)),
        tools=(calculator, clock),
        by=("renamed",),
        answered=states_number,
        reference=kept_calls,
        expert=_expert(distracted),
        start=START,
        gauges={"used_tools": USED_TOOLS, "decoy": RatioMetric(lambda one, outcome: float(_asks_the_time(one)))},
    )


def _expert(distracted: float) -> Expert:
    """Looks at the clock first, now and then, where there is one."""
    right = calls_then_answer(_calls)
    looking = with_mistakes(right, wrong=_asks_first, share=distracted)

    def expert(task: Task, facts: Facts) -> Message:
        return (looking if _name_of(clock.schema.name, task) in facts["tools"] else right)(task, facts)

    return expert


def _asks_first(task: Task, call: ToolCall, rng: random.Random) -> ToolCall:
    del call, rng
    return ToolCall(_name_of(clock.schema.name, task), {})


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    return [call for call in kept_calls(task) if call.name in facts["tools"]]


def _asks_the_time(one: Trajectory) -> bool:
    return any(call.name == _name_of(clock.schema.name, one.task) for call in one.calls)


def _name_of(name: str, task: Task) -> str:
    return task.metadata[NAMES].get(name, name)
