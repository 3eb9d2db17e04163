"""Worked sums, once without an error and once with a wrong line of the same length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.evaluation.bench_items import BenchItem, BenchQuestion
from handaxe.evaluation.scenes import play, script
from handaxe.judges.asked_steps import asked_steps
from handaxe.ops.seeds import generator
from handaxe.worlds.worked_steps import worked_steps
from handaxe.worlds.world import Split, World

__all__ = ["step_twins"]

ERRORS = (-2, -1, 1, 2)
"""Differences of a wrong result from the right one."""
SPARE = 2
"""Tasks made for each task of the bench, since some sums have no wrong line of the same length."""


def step_twins(*, split: Split, count: int, seed: int) -> list[BenchItem]:
    """Play the expert of `worked_steps` twice at each task: without an error, and with one wrong line.

    The lines after a wrong line go on from its result and are right. Lines and answers of both rollouts have the same
    lengths, so length and position say nothing about the error. Labels are `World.verdicts`.

    Args:
        split: of the tasks; no sum is in both.
        count: tasks at most.
        seed: of the tasks and the errors.

    Returns:
        A task each, with a question for every turn: the rollout without an error, then the other.

    Example:
        "4+7+3=?": lines 4+7=11, 11+3=14, answer 14, and lines 4+7=12, 12+3=15, answer 15;
        the label of 4+7=12 alone is False

    Idea: error localisation with labels by computation, and lengths in balance.
    """
    world = worked_steps(mistakes=0.0)
    items = list[BenchItem]()
    for task in world.tasks(split, SPARE * count, seed):
        wrong = _wrong_lines(task, seed)
        if wrong is None:
            continue
        clean = _played(world, task, _lines(_terms(task)), "clean")
        error = _played(world, task, wrong, "error")
        items.append(BenchItem(task.id, (*_questions(world, clean), *_questions(world, error))))
        if len(items) == count:
            break
    return items


def _terms(task: Task) -> list[int]:
    return [int(one) for one in task.metadata["expression"].split("+")]


def _lines(terms: Sequence[int], *, place: int = -1, error: int = 0) -> list[str]:
    """Lines, with an error added to the result of one of them, and the answer."""
    lines, total = list[str](), terms[0]
    for k, term in enumerate(terms[1:]):
        result = total + term + (error if k == place else 0)
        lines.append(f"{total}+{term}={result}")
        total = result
    return [*lines, str(total)]


def _wrong_lines(task: Task, seed: int) -> list[str] | None:
    """Lines with one error and the lengths of the lines without; None if no error keeps the lengths."""
    terms = _terms(task)
    lengths = [len(one) for one in _lines(terms)]
    rng = generator("step twins", seed, task.id)
    for place in rng.permutation(len(terms) - 1):
        for error in rng.permutation(ERRORS):
            lines = _lines(terms, place=int(place), error=int(error))
            if [len(one) for one in lines] == lengths and "=-" not in "".join(lines):
                return lines
    return None


def _played(world: World, task: Task, lines: Sequence[str], name: str) -> Trajectory:
    calls = [Message("assistant", "", (ToolCall("line", {"text": one}),)) for one in lines[:-1]]
    return play(world, world.tools, task, script(*calls, lines[-1]), id=f"{task.id}/{name}")


def _questions(world: World, one: Trajectory) -> list[BenchQuestion]:
    verdict_N = world.need("verdicts")(one)
    lengths = [(len(turn.parsed.raw),) for turn in one.turns]
    return [BenchQuestion(_asked(one, n), bool(verdict_N[n] > 0), lengths[n], place=n) for n in range(len(one.turns))]


def _asked(one: Trajectory, turn: int) -> Callable[[AskDesk], Ask]:
    return lambda desk: asked_steps(desk=desk).question(one, turn)
