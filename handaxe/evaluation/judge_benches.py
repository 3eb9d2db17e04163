"""Benches for judges by name.

steps        worked sums with one wrong line or none; see `step_twins`
answers      tasks of a world with one correct and three wrong answers; see `wrong_answers`
bfcl_pairs   function calls of BFCL, one right and five with an error; see `bfcl_pairs`
ties         prompts with several right answers beside prompts with one; see `tied_answers`
rollouts     rollouts of a policy at tasks of a world; see `methods.bench_rollouts`
jsonl:PATH   a user's file of chosen and rejected answers; see `preference_rows`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.evaluation.bench_items import BenchItem
from handaxe.evaluation.bench_scores import ANSWERS, PAIRS, STEPS, BenchForm
from handaxe.evaluation.bfcl_pairs import bfcl_pairs
from handaxe.evaluation.preference_rows import preference_items, preference_rows
from handaxe.evaluation.rollout_scores import ROLLOUTS
from handaxe.evaluation.step_twins import step_twins
from handaxe.evaluation.tie_scores import TIES
from handaxe.evaluation.tied_answers import tied_answers
from handaxe.evaluation.wrong_answers import wrong_answers
from handaxe.worlds.bfcl.package import check_bfcl_installed
from handaxe.worlds.world import Split, World

__all__ = ["BENCHES", "JudgeBench", "Make", "find_bench"]

BENCHES = ("steps", "answers", "bfcl_pairs", "ties", "rollouts", "jsonl:PATH")
FILE = "jsonl:"
ALONE = {"steps": "each step", "ties": "each answer", "rollouts": "each rollout"}
"""Benches without questions about pairs, and what they ask about."""
Make = Callable[[Split | None, int, int], list[BenchItem]]
"""(split, tasks at most, seed) -> tasks; split None: all tasks, for judges that learn nothing."""


class JudgeBench(NamedTuple):
    """Tasks with an exact order of answers or steps.

    name     of the bench
    form     figures
    make     tasks of a split
    by_rule  labels are by a rule, so `rule` is a judge with the figures of a perfect judge
    """

    name: str
    form: BenchForm
    make: Make
    by_rule: bool

    @property
    def has_candidates(self) -> bool:
        """Whether a task is a list of candidates with a score each, so that the best of n can be chosen."""
        return self.form in (ANSWERS, ROLLOUTS)


def find_bench(
    name: str, *, world: World | None = None, pairs: bool = False, rollouts: Make | None = None
) -> JudgeBench:
    """Find a bench. Reads the file of jsonl:PATH, and loads no model.

    Args:
        name: one of `BENCHES`.
        world: of the tasks of `answers`.
        pairs: ask about pairs of answers in both orders, instead of each answer alone.
        rollouts: maker of the tasks of `rollouts`.

    Raises:
        InputError: no such bench; `answers` without a world; `rollouts` without a maker; pairs of a bench without them;
            a bad file; bfcl-eval is missing.

    Example:
        find_bench("steps").make("test", 100, 0) -> 100 tasks
    """
    if pairs and name in ALONE:
        raise InputError(f"bench {name} asks about {ALONE[name]} alone: leave --pairs out")
    form = PAIRS if pairs else ANSWERS
    if name == "steps":
        return JudgeBench(
            name, STEPS, lambda split, n, seed: step_twins(split=split or "test", count=n, seed=seed), True
        )
    if name == "answers":
        return JudgeBench(name, form, _answers(world, pairs), True)
    if name == "bfcl_pairs":
        check_bfcl_installed()
        return JudgeBench(
            name, form, lambda split, n, seed: bfcl_pairs(split=split or "test", count=n, seed=seed, pairs=pairs), True
        )
    if name == "ties":
        return JudgeBench(
            name, TIES, lambda split, n, seed: tied_answers(split=split or "test", count=n, seed=seed), True
        )
    if name == "rollouts":
        if rollouts is None:
            raise InputError("bench rollouts needs a policy that plays: name one, --model NAME")
        return JudgeBench(name, ROLLOUTS, rollouts, True)
    if name.startswith(FILE):
        rows = preference_rows(name.removeprefix(FILE))
        return JudgeBench(
            name, form, lambda half, n, seed: preference_items(rows, half=half, count=n, seed=seed, pairs=pairs), False
        )
    raise InputError(f"there is no bench {name!r}; there are {', '.join(BENCHES)}")


def _answers(world: World | None, pairs: bool) -> Make:
    if world is None:
        raise InputError("bench answers needs a world, such as --world arithmetic")
    return lambda split, n, seed: wrong_answers(world=world, split=split or "test", count=n, seed=seed, pairs=pairs)
