"""UCT (arXiv:2602.01983): tools created during a stream of tasks, with a gate, reuse and consolidation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.uct.creator import Creator, Solution
from handaxe.tools.building_blocks import GRID_BLOCKS, LIST_BLOCKS
from handaxe.tools.library import ToolLibrary
from handaxe.tools.program_search import ProgramMaker
from handaxe.worlds.parts.rule_tasks import RuleTask, is_correct, rule_tasks

__all__ = ["uct"]

RULES = "move_|gravity_|change"
"""44 of the 70 rules of arc_1d: moves, gravity and recoloring."""
COLORS = (1, 2, 3, 4, 5)


class Agent(NamedTuple):
    """Switches of an agent; see `Creator`."""

    checks: bool = True
    keeps: bool = True
    period: int = 20


AGENTS = {
    "uct": Agent(),
    "tests_only": Agent(checks=False),
    "alone": Agent(keeps=False),
    "no_consolidation": Agent(period=0),
}
COLUMNS = ("correct", "wrong", "reused", "created", "tried")


def uct(*, seeds: int = 8, tasks: int = 80, most: int = 4000) -> StudyFunction:
    """Solve streams of `arc_1d` and `list_functions` tasks, in turn, with four agents.

    Agents: uct; tests_only, whose drafts need only their own tests; alone, which keeps no tool after a task; and
    no_consolidation. The split is train: nothing is trained, and no agent reads an answer.

    Figures:
        AGENT/accuracy, .../first, .../second       of the stream and of its halves, mean over seeds
        AGENT/wrong                                 share of tasks with a wrong answer; others have none
        AGENT/created, .../created_second           admitted tools per 100 tasks; in the second half
        AGENT/reuse, .../reuse_second               share of tool uses that are of tools of earlier tasks
        AGENT/tried                                 programs that the maker evaluates a task
        AGENT/tools                                 tools at the end
        gain/AGENT, .../low, .../high               accuracy of uct less that of another agent, mean over seeds with
                                                    95 % interval
        gain/second                                 likewise: accuracy of uct in the second half less the first half
        fewer/wrong, fewer/tried                    likewise: wrong answers of tests_only less those of uct; programs a
                                                    task of alone less those of uct
        fewer/created, more/reuse                   likewise: creations of the first half less the second, per 100
                                                    tasks; reuse of the second half less the first

    Args:
        seeds: streams.
        tasks: of a stream.
        most: programs that the maker evaluates for a ticket.
    """

    def measure(seed: int) -> dict[str, float]:
        streams = [_stream(tasks, number) for number in range(seed, seed + seeds)]
        figures = dict[str, float]()
        found = dict[str, dict[str, np.ndarray]]()
        for name, agent in AGENTS.items():
            played = [_play(stream, agent, most) for stream in streams]
            found[name] = {
                key: np.array([columns[number] for columns, _ in played]) for number, key in enumerate(COLUMNS)
            }
            figures |= {f"{name}/{key}": value for key, value in _agent_figures(found[name]).items()}
            figures[f"{name}/tools"] = float(np.mean([count for _, count in played]))
        return figures | _gains(found)

    return measure


def _stream(tasks: int, seed: int) -> list[RuleTask]:
    rows = rule_tasks("arc_1d", count=(tasks + 1) // 2, seed=seed, rules=RULES)
    lists = rule_tasks("list_functions", count=max(tasks // 2, 1), seed=seed)
    return [one for pair in itertools.zip_longest(rows, lists) for one in pair if one is not None][:tasks]


def _play(stream: Sequence[RuleTask], agent: Agent, most: int) -> tuple[list[list[float]], int]:
    """Columns of a stream, [5, T], and the number of tools at the end."""
    makers = {
        "arc_1d": ProgramMaker(GRID_BLOCKS, most=most, constants=COLORS),
        "list_functions": ProgramMaker(LIST_BLOCKS, most=most),
    }
    library = ToolLibrary(accepts=("verified",) if agent.checks else ("verified", "unverified"))
    creator = Creator(makers, library, agent.checks, agent.keeps, agent.period)
    rows = [_row(one, creator.solve(one)) for one in stream]
    return [list(column) for column in zip(*rows, strict=True)], len(library.entries)


def _row(one: RuleTask, found: Solution) -> tuple[float, ...]:
    correct = is_correct(one, found.value)
    wrong = found.value is not None and not correct
    return tuple(map(float, (correct, wrong, found.reused, found.created, found.tried)))


def _reuse(found: dict[str, np.ndarray], part: slice) -> np.ndarray:
    """Share of the uses of tools that are of tools of earlier tasks [S]."""
    reused_S, created_S = found["reused"][:, part].sum(1), found["created"][:, part].sum(1)
    return reused_S / np.maximum(reused_S + created_S, 1)


def _agent_figures(found: dict[str, np.ndarray]) -> dict[str, float]:
    half = found["correct"].shape[1] // 2
    first, second = slice(half), slice(half, None)
    return {
        "accuracy": float(found["correct"].mean()),
        "first": float(found["correct"][:, first].mean()),
        "second": float(found["correct"][:, second].mean()),
        "wrong": float(found["wrong"].mean()),
        "created": 100 * float(found["created"].mean()),
        "created_second": 100 * float(found["created"][:, second].mean()),
        "reuse": float(_reuse(found, slice(None)).mean()),
        "reuse_second": float(_reuse(found, second).mean()),
        "tried": float(found["tried"].mean()),
    }


def _gains(found: dict[str, dict[str, np.ndarray]]) -> dict[str, float]:
    own = found["uct"]
    half = own["correct"].shape[1] // 2
    first, second = slice(half), slice(half, None)
    pairs = {
        "gain/second": own["correct"][:, second].mean(1) - own["correct"][:, first].mean(1),
        "fewer/wrong": (found["tests_only"]["wrong"] - own["wrong"]).mean(1),
        "fewer/tried": (found["alone"]["tried"] - own["tried"]).mean(1),
        "fewer/created": 100 * (own["created"][:, first].mean(1) - own["created"][:, second].mean(1)),
        "more/reuse": _reuse(own, second) - _reuse(own, first),
    }
    pairs |= {
        f"gain/{name}": (own["correct"] - other["correct"]).mean(1) for name, other in found.items() if name != "uct"
    }
    figures = dict[str, float]()
    for name, value_S in sorted(pairs.items()):
        figures |= interval_figures(name, value_S)
    return figures
