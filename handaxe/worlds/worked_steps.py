"""Sums worked out line by line, with rule-based correctness of every line."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from handaxe.core.errors import InputError, Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.worked_lines import BACK, LINE, remaining, verdicts
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Sheet", "worked_steps"]

Ask = Literal["sum", "parity"]
SHORTEST, LONGEST = 3, 6
PAIRS = tuple((f"{a}+{b}", f"{a}+{b}={a + b}") for a in range(1, 9 * LONGEST - 8) for b in range(1, 10))
"""Every line with two terms, in a wording of no task."""
STARTS: dict[Ask, Start] = {
    "sum": Start(
        DemonstrationNoise(call_rate=0.95), skill=300, steps=10, batch_size=16, warmup=PAIRS, warmup_steps=400
    ),
    "parity": Start(DemonstrationNoise(call_rate=0.95), skill=140, steps=10),
}


def worked_steps(*, ask: Ask = "sum", mistakes: float = 0.2) -> World:
    """Sums of 3 to 6 digits, worked out with a tool for a line per turn, correct or not.

    A line replaces the first numbers of the remaining sum by its result. The tool replies with the remaining sum and
    never judges the line; "no" takes the last line back. `verdicts` judges each turn alone with sympy, so that an
    incorrect line and a correct answer can be distinguished.

    Args:
        ask: "sum", the value of the sum, or "parity", odd or even: half of the incorrect lines lead to a correct
            answer.
        mistakes: share of the tasks in which the expert writes an incorrect line, takes it back, and continues
            correctly.

    Returns:
        A world broken down by "terms", with `verdicts`. The start policy of "sum" memorizes sums of two numbers, so
        that many of its lines are correct. Gauges: wrong_lines (share of incorrect lines), and lucky (share of correct
        answers after an incorrect standing line, among correct answers).

    Raises:
        InputError: an argument out of range, or a missing package (extra [sandbox]).

    Example:
        "4+7+3=?": line "4+7=12" leaves "12+3", line "no" leaves "4+7+3", line "4+7=11" leaves "11+3", line "11+3=14"
        leaves "14", and the answer is "14": verdicts -1, 1, 1, 1, 1
    """
    if ask not in ("sum", "parity") or not 0 <= mistakes <= 1:
        raise InputError(f"worked_steps takes ask sum or parity and mistakes from 0 to 1, not {ask!r} and {mistakes}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(ask, split, seed, number) for number in range(count)]

    def expert(task: Task, facts: Facts) -> Message:
        lines = _lines(task, mistakes)
        if facts["turn"] < len(lines):
            return Message("assistant", "", (ToolCall("line", {"text": lines[facts["turn"]]}),))
        return Message("assistant", str(task.answer))

    return World(
        name="worked_steps",
        tasks=tasks,
        env=_env,
        correct=exact_match(normalise=str.strip),
        breakdown=("terms",),
        is_answer=is_text_answer,
        expert=expert,
        start=STARTS[ask],
        verdicts=verdicts,
        gauges={
            "wrong_lines": RatioMetric(lambda one, right: _incorrect_lines(one), lambda one, right: _line_count(one)),
            "lucky": RatioMetric(
                lambda one, right: float(right > 0.5 and bool(_standing(one))), lambda one, right: float(right > 0.5)
            ),
        },
    )


class Sheet:
    """Tool with the standing lines of a rollout, as the remaining sum after each; its state can be forked."""

    def __init__(self, expression: str):
        self.left = [expression]

    @tool
    def line(self, text: Annotated[str, "such as 4+7=11"]) -> str:
        """Write a line that begins with the first numbers of what is left; "no" takes the last line back."""
        entry = text.strip()
        if entry == BACK:
            if len(self.left) == 1:
                raise Retry("there is no line to take back")
            self.left.pop()
            return self.left[-1]
        rest = remaining(self.left[-1], entry)
        if rest is None:
            raise Retry(f"go on from {self.left[-1]}")
        self.left.append(rest)
        return rest

    def report(self) -> dict[str, Any]:
        """The remaining sum."""
        return {"left": self.left[-1]}

    def snapshot(self) -> list[str]:
        """The standing lines."""
        return list(self.left)

    def restore(self, state: list[str]) -> None:
        """Restore a snapshot."""
        self.left = list(state)


def _env(offered: Sequence[Any]) -> EnvFactory:
    def make(task: Task) -> Env:
        return tool_chat([lambda: Sheet(task.metadata.get("expression", "")), *offered])(task)

    tool_chat([lambda: Sheet(""), *offered])  # raises early for bad tools
    return make


def _task(ask: Ask, split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("worked_steps", seed, split, number))
    expression = ""
    while not expression or content_split("worked_steps", expression) != split:
        expression = "+".join(str(rng.randint(1, 9)) for _ in range(rng.randint(SHORTEST, LONGEST)))
    terms = [int(one) for one in expression.split("+")]
    total = sum(terms)
    answer = str(total) if ask == "sum" else ("even", "odd")[total % 2]
    question = f"{expression}=?" if ask == "sum" else f"{expression} odd?"
    metadata = {"expression": expression, "terms": len(terms)}
    return Task(f"worked-{ask}-{seed}-{split}-{number}", (Message("user", question),), answer, None, metadata)


def _lines(task: Task, mistakes: float) -> list[str]:
    """The expert's lines."""
    terms = [int(one) for one in task.metadata["expression"].split("+")]
    rng = random.Random(derive_seed("slip", task.id))
    mistake_at = rng.randrange(len(terms) - 1) if rng.random() < mistakes else -1
    lines, total = [], terms[0]
    for place, term in enumerate(terms[1:]):
        if place == mistake_at:
            lines += [f"{total}+{term}={total + term + rng.choice((-2, -1, 1, 2))}", BACK]
        lines.append(f"{total}+{term}={total + term}")
        total += term
    return lines


def _line_count(one: Trajectory) -> float:
    return float(sum(LINE.fullmatch(_text(call)) is not None for call in one.calls))


def _incorrect_lines(one: Trajectory) -> float:
    found = zip(one.turns, verdicts(one))
    return float(sum(bool(v < 0 and any(LINE.fullmatch(_text(c)) for c in t.parsed.calls)) for t, v in found))


def _standing(one: Trajectory) -> list[str]:
    """The incorrect standing lines."""
    lines: list[tuple[str, bool]] = []
    for turn, verdict in zip(one.turns, verdicts(one)):
        for call, reply in zip(turn.parsed.calls, turn.replies):
            if reply.status == "ok" and _text(call) == BACK:
                lines.pop()
            elif reply.status == "ok":
                lines.append((_text(call), bool(np.sign(verdict) < 0)))
    return [text for text, incorrect in lines if incorrect]


def _text(call: ToolCall) -> str:
    return str(call.arguments.get("text", "")).strip()
