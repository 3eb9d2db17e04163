"""Sums worked out a line a turn, where every line can be checked: the world in which wrong steps can be told apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from handaxe.core.errors import InputError, Retry, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.worked_lines import BACK, LINE, remaining, verdicts
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Sheet", "worked_steps"]

Ask = Literal["sum", "parity"]
SHORTEST, LONGEST = 3, 6
PAIRS = tuple((f"{a}+{b}", f"{a}+{b}={a + b}") for a in range(1, 9 * LONGEST - 8) for b in range(1, 10))
"""All sums of which a line can consist that adds one number, in words that no task has."""
STARTS: dict[Ask, Start] = {
    "sum": Start(DemonstrationNoise(needed=0.95), skill=300, steps=10, batch_size=16, lessons=PAIRS, drill=400),
    "parity": Start(DemonstrationNoise(needed=0.95), skill=140, steps=10),
}
TEST_SHARE = 4
"""One expression in so many is in test."""


def worked_steps(*, ask: Ask = "sum", slips: float = 0.2) -> World:
    """Sums of three to six one-digit numbers, worked out with a tool that takes a line a turn, right or wrong.

    A line replaces the first numbers of what is left by what it says they make. The tool says what is then left, and
    never whether the line is right; "no" takes the last line back. sympy knows: `verdicts` says of every turn whether
    it is right by itself, so that a wrong line and a right end can be told apart.

    Args:
        ask: "sum", what the numbers make, or "parity", whether that is odd or even: a wrong line still leads to a right
            answer half of the time.
        slips: share of the tasks in which the expert writes a wrong line, takes it back, and goes on rightly.

    Returns:
        A world broken down by "terms", with `verdicts`; the start of "sum" has learned sums of two numbers by heart, so
        that many of its lines are right. Gauges: wrong_lines (of the lines that were written), and lucky (right answers
        above a wrong line that stands, of all right answers).

    Raises:
        InputError: an argument out of range, or a missing package (extra [sandbox]).

    Example:
        "4+7+3=?": line "4+7=12" leaves "12+3", line "no" leaves "4+7+3", line "4+7=11" leaves "11+3", line "11+3=14"
        leaves "14", and the answer is "14": verdicts -1, 1, 1, 1, 1
    """
    if ask not in ("sum", "parity") or not 0 <= slips <= 1:
        raise InputError(f"worked_steps asks for sum or parity and takes slips from 0 to 1, not {ask!r} and {slips}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        return [_task(ask, split, seed, number) for number in range(count)]

    def expert(task: Task, facts: Facts) -> Message:
        lines = _lines(task, slips)
        if facts["turn"] < len(lines):
            return Message("assistant", "", (ToolCall("line", {"text": lines[facts["turn"]]}),))
        return Message("assistant", str(task.answer))

    return World(
        name="worked_steps",
        tasks=tasks,
        env=_env,
        correct=exact_match(normalise=str.strip),
        by=("terms",),
        answered=lambda turn: not turn.parsed.calls and bool(turn.parsed.text.strip()),
        expert=expert,
        start=STARTS[ask],
        verdicts=verdicts,
        gauges={
            "wrong_lines": RatioMetric(lambda one, right: _wrong(one), lambda one, right: _written(one)),
            "lucky": RatioMetric(
                lambda one, right: float(right > 0.5 and bool(_standing(one))), lambda one, right: float(right > 0.5)
            ),
        },
    )


class Sheet:
    """The lines of one attempt that stand, as what each left of the sum; state that can be forked."""

    def __init__(self, expression: str):
        self.left = [expression]

    @tool
    def line(self, text: Annotated[str, "such as 4+7=11"]) -> str:
        """Write a line that begins with the first numbers of what is left; "no" takes the last line back."""
        said = text.strip()
        if said == BACK:
            if len(self.left) == 1:
                raise Retry("there is no line to take back")
            self.left.pop()
            return self.left[-1]
        after = remaining(self.left[-1], said)
        if after is None:
            raise Retry(f"go on from {self.left[-1]}")
        self.left.append(after)
        return after

    def report(self) -> dict[str, Any]:
        """What is left."""
        return {"left": self.left[-1]}

    def snapshot(self) -> list[str]:
        """The lines that stand."""
        return list(self.left)

    def restore(self, state: list[str]) -> None:
        """Go back to them."""
        self.left = list(state)


def _env(offered: Sequence[Any]) -> EnvFactory:
    def make(task: Task) -> Env:
        return tool_chat([lambda: Sheet(task.metadata.get("expression", "")), *offered])(task)

    tool_chat([lambda: Sheet(""), *offered])  # says at once what is wrong with the tools
    return make


def _task(ask: Ask, split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("worked_steps", seed, split, number))
    expression = ""
    while not expression or (derive_seed("worked_steps", expression) % TEST_SHARE == 0) != (split == "test"):
        expression = "+".join(str(rng.randint(1, 9)) for _ in range(rng.randint(SHORTEST, LONGEST)))
    terms = [int(one) for one in expression.split("+")]
    total = sum(terms)
    answer = str(total) if ask == "sum" else ("even", "odd")[total % 2]
    asked = f"{expression}=?" if ask == "sum" else f"{expression} odd?"
    metadata = {"expression": expression, "terms": len(terms)}
    return Task(f"worked-{ask}-{seed}-{split}-{number}", (Message("user", asked),), answer, None, metadata)


def _lines(task: Task, slips: float) -> list[str]:
    """What the expert writes."""
    terms = [int(one) for one in task.metadata["expression"].split("+")]
    rng = random.Random(derive_seed("slip", task.id))
    wrong_at = rng.randrange(len(terms) - 1) if rng.random() < slips else -1
    lines, total = [], terms[0]
    for place, term in enumerate(terms[1:]):
        if place == wrong_at:
            lines += [f"{total}+{term}={total + term + rng.choice((-2, -1, 1, 2))}", BACK]
        lines.append(f"{total}+{term}={total + term}")
        total += term
    return lines


def _written(one: Trajectory) -> float:
    return float(sum(LINE.fullmatch(_text(call)) is not None for call in one.calls))


def _wrong(one: Trajectory) -> float:
    found = zip(one.turns, verdicts(one))
    return float(sum(bool(v < 0 and any(LINE.fullmatch(_text(c)) for c in t.parsed.calls)) for t, v in found))


def _standing(one: Trajectory) -> list[str]:
    """The wrong lines that were not taken back."""
    lines: list[tuple[str, bool]] = []
    for turn, verdict in zip(one.turns, verdicts(one)):
        for call, reply in zip(turn.parsed.calls, turn.replies):
            if reply.status == "ok" and _text(call) == BACK:
                lines.pop()
            elif reply.status == "ok":
                lines.append((_text(call), bool(np.sign(verdict) < 0)))
    return [text for text, wrong in lines if wrong]


def _text(call: ToolCall) -> str:
    return str(call.arguments.get("text", "")).strip()
