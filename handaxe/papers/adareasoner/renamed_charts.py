"""Charts with task-specific tool names, and a second tool that never helps.

Idea: the unseen tool names of AdaReasoner (arXiv:2601.18631), on images.
"""

from __future__ import annotations

import random
from dataclasses import replace

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.papers.adareasoner.renamed_tools import NAMES, rename_tasks, renamed_call, renamed_tools
from handaxe.tools.decorator import tool
from handaxe.worlds.charts.world import charts
from handaxe.worlds.parts.call_metrics import USED_TOOLS
from handaxe.worlds.parts.mistakes import add_mistakes
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["clock", "renamed_charts"]

START = Start(
    DemonstrationNoise(call_rate=0.9, corrupt_rate=0.1), skill=300, steps=15, batch_size=16, learning_rate=2e-3
)


@tool(timeout=None)
def clock() -> str:
    """Say what time it is."""
    return "12:00"


def renamed_charts(*, train: float = 1.0, test: float = 0.5, distracted: float = 0.5) -> World:
    """Values of the red bar and counts of bars, with a zoom and a clock, which never helps.

    Names of the tools and of the zoom's parameter are drawn per task, for a share of the tasks: see
    `papers.adareasoner.renamed_tools`. The zoom is the tool with an argument.

    Args:
        train: share of training tasks with drawn names, 0 to 1.
        test: share of test tasks with drawn names, none of which occurs in a training task.
        distracted: share of tasks in which the expert calls the clock before the zoom.

    Returns:
        A world broken down by "renamed" (yes or no) and "needs_tool", with gauges used_tools and decoy (share of
        rollouts with a call of the clock). The expert uses the task's names. The start policy is trained on
        demonstrations of the distracted expert on training tasks, with their names.

    Raises:
        InputError: a share out of range, when tasks are made or the expert acts; vega_datasets, scikit-learn or Pillow
            is missing (extras [charts] and [plates]).

    Example:
        tools f4(p8) and k2(), "red?": the call f4("2 6 4 8") shows the value of the red bar
    """
    world = charts(kinds=("value", "value", "count"))

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        share, made = train if split == "train" else test, world.tasks(split, count, seed)
        env = world.env((clock,))(made[0])
        tools = env.start()[1]
        env.close()
        return rename_tasks(made, tools=tools, share=share, split=split, digits=1)

    return replace(
        world,
        name="renamed_charts",
        tasks=tasks,
        env=lambda tools: renamed_tools(world.env(tools)),
        tools=(clock,),
        breakdown=("renamed", "needs_tool"),
        expert=_expert(world.need("expert"), distracted),
        start=START,
        gauges={"used_tools": USED_TOOLS, "decoy": RatioMetric(lambda one, outcome: float(_calls_clock(one)))},
    )


def _expert(original: Expert, distracted: float) -> Expert:
    """The expert with the task's names, which calls an offered clock first in a share of the tasks."""
    with_clock = add_mistakes(original, wrong=_clock_call, share=distracted)

    def expert(task: Task, facts: Facts) -> Message:
        names = task.metadata[NAMES]
        known = {drawn: name for name, drawn in names.items()}
        tools = [known.get(name, name) for name in facts["tools"]]
        message = (with_clock if clock.schema.name in tools else original)(task, {**facts, "tools": tools})
        return replace(message, calls=tuple(renamed_call(call, names) for call in message.calls))

    return expert


def _clock_call(task: Task, call: ToolCall, rng: random.Random) -> ToolCall:
    del task, call, rng
    return ToolCall(clock.schema.name, {})


def _calls_clock(one: Trajectory) -> bool:
    name = one.task.metadata[NAMES].get(clock.schema.name, clock.schema.name)
    return any(call.name == name for call in one.calls)
