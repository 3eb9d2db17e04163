"""Benches for judges by name.

steps        worked sums with one wrong line or none; see `step_twins`
answers      tasks of a world with one correct and three wrong answers; see `wrong_answers`
jsonl:PATH   a user's file of chosen and rejected answers; see `preference_rows`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.evaluation.bench_items import BenchItem
from handaxe.evaluation.bench_scores import ANSWERS, PAIRS, STEPS, BenchForm
from handaxe.evaluation.preference_rows import preference_items, preference_rows
from handaxe.evaluation.step_twins import step_twins
from handaxe.evaluation.wrong_answers import wrong_answers
from handaxe.worlds.world import Split, World

__all__ = ["BENCHES", "JudgeBench", "find_bench"]

BENCHES = ("steps", "answers", "jsonl:PATH")
FILE = "jsonl:"


class JudgeBench(NamedTuple):
    """Tasks with an exact order of answers or steps.

    name     of the bench
    form     figures
    make     (split, tasks at most, seed) -> tasks; split None: all tasks, for judges that learn nothing
    by_rule  labels are by a rule, so `rule` is a judge with the figures of a perfect judge
    """

    name: str
    form: BenchForm
    make: Callable[[Split | None, int, int], list[BenchItem]]
    by_rule: bool


def find_bench(name: str, *, world: World | None = None, pairs: bool = False) -> JudgeBench:
    """Find a bench. Reads the file of jsonl:PATH, and loads no model.

    Args:
        name: steps, answers or jsonl:PATH.
        world: of the tasks of `answers`.
        pairs: ask about pairs of answers in both orders, instead of each answer alone.

    Raises:
        InputError: no such bench; `answers` without a world, or another bench with one; steps in pairs; a bad file.

    Example:
        find_bench("steps").make("test", 100, 0) -> 100 tasks
    """
    if name == "steps":
        if pairs:
            raise InputError("bench steps asks about each step alone: leave --pairs out")
        return JudgeBench(
            name, STEPS, lambda split, n, seed: step_twins(split=split or "test", count=n, seed=seed), True
        )
    form = PAIRS if pairs else ANSWERS
    if name == "answers":
        if world is None:
            raise InputError("bench answers needs a world, such as --world arithmetic")

        def made(split: Split | None, n: int, seed: int) -> list[BenchItem]:
            return wrong_answers(world=world, split=split or "test", count=n, seed=seed, pairs=pairs)

        return JudgeBench(name, form, made, True)
    if name.startswith(FILE):
        rows = preference_rows(name.removeprefix(FILE))
        return JudgeBench(
            name, form, lambda half, n, seed: preference_items(rows, half=half, count=n, seed=seed, pairs=pairs), False
        )
    raise InputError(f"there is no bench {name!r}; there are {', '.join(BENCHES)}")
