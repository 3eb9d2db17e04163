"""TPS-Bench (arXiv:2511.01527): completion and time of sequential, parallel and reckless schedules."""

from collections.abc import Sequence
from functools import partial

from handaxe.core.records import Group, Task, Trajectory
from handaxe.evaluation.benchmarks.tps_bench import tps_choice, tps_world
from handaxe.methods.method import StudyFunction
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tps_bench.schedule_agent import schedule_agent
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["tps_bench"]

AGENTS: dict[str, tuple[int | None, bool]] = {
    "sequential": (1, True),
    "pairs": (2, True),
    "parallel": (None, True),
    "reckless": (None, False),
}
"""Agent -> most calls of a turn, and whether dependencies are respected."""
WORLDS = {
    "easy": partial(tps_world, 4, 1, brief=False),
    "hard": partial(tps_world, 4, 3, brief=False),
    "choice": partial(tps_choice, 3, 3),
}
"""Level -> world of the benchmark: tools are searched, or chosen from a list before the first call."""
FIGURES = {"progress": "done", "selected": "select", "call_turns": "turns", "elapsed": "time"}


def tps_bench(*, tasks: int = 25) -> StudyFunction:
    """Play the benchmark's tasks in prose with scripted agents of different schedules.

    Figures:
        LEVEL/AGENT/done, .../select, .../turns, .../time, .../solved   completed subtasks, F1 of the tools, turns with
                                        calls, simulated seconds, and share of correct answers
        LEVEL/saved, LEVEL/lost         share of the sequential time that the parallel schedule saves, and completion
                                        that it loses
        LEVEL/reckless/saved, .../lost  the same of the reckless schedule, against the parallel one

    Args:
        tasks: held-out tasks of a level.
    """

    def measure(seed: int) -> dict[str, float]:
        found = dict[str, float]()
        for level, make in WORLDS.items():
            world = make()
            asked = world.tasks("test", tasks, seed)
            figures = dict[str, float]()
            for name in AGENTS:
                figures |= {f"{name}/{key}": value for key, value in _play(world, asked, name, seed).items()}
            figures |= _differences(figures, "", "parallel", "sequential")
            figures |= _differences(figures, "reckless/", "reckless", "parallel")
            found |= {f"{level}/{key}": value for key, value in figures.items()}
        return found

    return measure


def _play(world: World, tasks: Sequence[Task], name: str, seed: int) -> dict[str, float]:
    width, waits = AGENTS[name]
    played: list[Trajectory] = []
    for task in tasks:
        agent = schedule_agent(width=width, waits=waits)
        turns = world.start_turns + 1
        one = demonstrate(world.env(world.tools), task, agent, format=Compact(), id=task.id, seed=seed, max_turns=turns)
        played.append(one)
    figures = {short: _ratio(world, played, key) for key, short in FIGURES.items()}
    return {**figures, "solved": sum(_outcome(world, one) for one in played) / len(played)}


def _outcome(world: World, one: Trajectory) -> float:
    return float(world.correct(Group(one.task, (one,))).outcome[0])


def _ratio(world: World, played: Sequence[Trajectory], name: str) -> float:
    gauge = world.gauges[name]
    return sum(gauge.top(one, 0.0) for one in played) / sum(gauge.bottom(one, 0.0) for one in played)


def _differences(figures: dict[str, float], prefix: str, name: str, base: str) -> dict[str, float]:
    saved = 1 - figures[f"{name}/time"] / figures[f"{base}/time"]
    return {f"{prefix}saved": saved, f"{prefix}lost": figures[f"{base}/done"] - figures[f"{name}/done"]}
