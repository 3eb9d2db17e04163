"""Prompts with several right answers, each beside a prompt with a single right answer."""

from __future__ import annotations

import numpy as np

from handaxe.core.records import Message, Task
from handaxe.evaluation.bench_items import BenchItem, answer_item
from handaxe.evaluation.preference_rows import answer_rollout
from handaxe.evaluation.wrong_answers import CRITERION
from handaxe.ops.seeds import derive_seed, generator
from handaxe.worlds.world import Split

__all__ = ["tied_answers"]

RIGHT = 3
WRONG = 3
DIVISORS = range(4, 13)
LOW = 10
HIGH = 99
"""All answers have two digits."""
SPLITS = 4
"""One task of four is in test."""


def tied_answers(*, split: Split, count: int, seed: int) -> list[BenchItem]:
    """Ask for a multiple of a number within a range: three of them are in the range of the tied prompt, and one is in
    the range of the reference prompt.

    Both prompts have six answers from their ranges, of two digits each, so length says nothing. Labels are by division.
    The order of the answers of a prompt plays no role, as each is asked about alone.

    Args:
        split: of the tasks, by a digest of divisor and range.
        count: tasks at most.
        seed: of the order of the tasks, and of the wrong answers.

    Returns:
        A task each: three right and three wrong answers of the tied prompt, one right and five wrong of the reference.

    Example:
        "Name a whole number from 20 to 36 that is divisible by 7." with 21, 28, 35 and 22, 30, 33;
        "Name a whole number from 23 to 32 that is divisible by 7." with 28 and 23, 24, 27, 30, 31

    Idea: right answers of equal worth, with labels by computation.
    """
    found = [(d, low) for d in DIVISORS for low in range(LOW, HIGH) if low // d * d + RIGHT * d <= HIGH - 1]
    own = [one for one in found if ("test" if derive_seed("ties split", *one) % SPLITS == 0 else "train") == split]
    own.sort(key=lambda one: derive_seed("ties order", seed, *one))
    return [_item(d, low, generator("ties", seed, d, low)) for d, low in own[:count]]


def _item(divisor: int, low: int, rng: np.random.Generator) -> BenchItem:
    first = -(-low // divisor) * divisor
    right = [first + k * divisor for k in range(RIGHT)]
    only = right[1]
    spare = divisor - 1
    tied = _asked(divisor, (low, right[-1] + 1), right, WRONG, rng)
    reference = _asked(divisor, (only - spare, only + spare), [only], RIGHT + WRONG - 1, rng)
    return BenchItem(f"ties-{divisor}-{low}", (*tied.questions, *reference.questions))


def _asked(divisor: int, limits: tuple[int, int], right: list[int], wrong: int, rng: np.random.Generator) -> BenchItem:
    """Right answers, and as many wrong ones as asked for from the same range."""
    low, high = limits
    others = [k for k in range(low, high + 1) if k % divisor]
    chosen = [*right, *sorted(int(k) for k in rng.permutation(others)[:wrong])]
    text = f"Name a whole number from {low} to {high} that is divisible by {divisor}."
    task = Task(f"ties-{divisor}-{low}-{high}", (Message("user", text),))
    rollouts = [answer_rollout(task, str(number), k) for k, number in enumerate(chosen)]
    return answer_item(rollouts, CRITERION, correct=[number in right for number in chosen])
