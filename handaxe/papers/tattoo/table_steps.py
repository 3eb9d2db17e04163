"""World of a step verifier: which steps of a calculation with a table are correct, checked by lookups and code."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.tattoo.grounded_calls import grounded_call
from handaxe.papers.tattoo.verdicts import LABEL_TEXTS, read_verdicts, supports, verdict_text
from handaxe.rewards.outcome import outcome
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["CELLS", "TableCells", "TableStep", "draw_cells", "draw_chain", "shown_step", "table_steps", "verifier_task"]

Offer = Literal["tools", "none"]
ROWS, COLUMNS = "abc", "123"
CELLS = tuple(row + column for row in ROWS for column in COLUMNS)
START = Start(skill=500, steps=0, batch_size=16, learning_rate=2e-3)
PARTS = 1000
"""Resolution of shares."""


class TableStep(NamedTuple):
    """A step of a trajectory under judgement.

    kind    retrieval (a cell), schema (cells by name) or reasoning (numbers as written)
    check   what a verifier works out: a cell, or an expression of numbers
    left    left side as written
    claim   right side as written
    value   correct right side
    """

    kind: str
    check: str
    left: str
    claim: str
    value: str

    @property
    def label(self) -> int:
        """1 for a correct step, -1 for an incorrect one."""
        return 1 if self.claim == self.value else -1


class TableCells:
    """Lookup in the table of a task."""

    def __init__(self, cells: dict[str, int]):
        self._cells = cells

    @tool(timeout=None)
    def lookup(self, cell: str) -> str:
        """Read a cell.

        Args:
            cell: row and column, such as b2
        """
        if cell.strip() not in self._cells:
            raise Retry(f"give a row of {ROWS} and a column of {COLUMNS}, such as b2")
        return str(self._cells[cell.strip()])

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""


def table_steps(
    *, offer: Offer = "tools", terse: float = 0.5, faults: float = 0.4, prefix: Literal["on", "off"] = "on"
) -> World:
    """Trajectories of three steps over a table of 3 by 3 numbers; the verifier labels each step + or -.

    The question is a sum of three cells. Step 1 retrieves a cell, step 2 adds the two others by name, step 3 adds the
    written numbers. Each step is judged alone. The sub-table of step 2 stands before the step (the table prefix). A
    verdict quotes the number of the verifier and the claim: "45:45+".

    Args:
        offer: "tools" gives `lookup` and `calculator`; "none" gives no tool, and the numbers of the expert have no
            source in the conversation.
        terse: share of the tasks, 0 to 1, for which the expert verifies without a tool, so that the use of tools is
            left to learn.
        faults: probability of an incorrect step, 0 to 1.
        prefix: "off" leaves out the sub-table.

    Returns:
        A world; an answer is correct if all labels are. No table is in both splits. Gauges: right_labels (share of
        correct labels), table_steps and reasoning_steps (the same by kind of step), supported (share of steps whose
        verdict quotes the result of its tool call) and formed (share of steps with a verdict).

    Raises:
        InputError: a share out of range.

    Example:
        "a 37 61 12", "b 45 22 90", "c 81 50 66", "a3+b1+c2?", "a3=12", "[45 50]b1+c2=93", "93+12=105": the expert calls
        lookup a3, writes "12:12+" and calls calculator 45+50, writes "95:93-" and calls calculator 93+12, and writes
        "105:105+"

    Paper: arXiv:2510.06217 (TaTToo), step verification of tabular reasoning with tools, and the table prefix.
    Differs: trajectories are written by rule; table, question and verdicts have a few bytes.
    """
    if not 0 <= terse <= 1 or not 0 <= faults <= 1:
        raise InputError(f"terse and faults are shares from 0 to 1, not {terse} and {faults}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, terse, faults, prefix == "on") for number in range(count)]

    return World(
        name="table_steps",
        tasks=tasks,
        env=_tool_env if offer == "tools" else tool_chat,
        tools=(calculator,) if offer == "tools" else (),
        correct=outcome(lambda one: float(_hits(one) == len(one.task.metadata["steps"]))),
        is_answer=lambda turn: not turn.parsed.calls and bool(turn.parsed.text.strip()),
        expert=_expert,
        start=START,
        start_turns=4,
        gauges=GAUGES,
    )


def draw_chain(rng: random.Random, cells: dict[str, int], asked: Sequence[str], *, faults: float) -> list[TableStep]:
    """Draw three steps toward the sum of three cells, each of them incorrect with probability `faults`.

    An incorrect cell is another cell's number; an incorrect result differs by 1 to 3, or by 10 to 30.

    Args:
        asked: the cell of step 1, then those of step 2.

    Returns:
        Steps of retrieval, schema and reasoning; the claim of the last one is the answer.

    Example:
        cells a3 12, b1 45, c2 50  ->  retrieval a3=12, schema b1+c2=93 (correct: 95), reasoning 93+12=105
    """
    third, first, second = asked
    one = cells[first]
    two = cells[second]
    three = cells[third]
    others = [number for number in cells.values() if number != three]
    read = rng.choice(others) if rng.random() < faults else three
    total = _slip(rng, one + two) if rng.random() < faults else one + two
    result = _slip(rng, total + read) if rng.random() < faults else total + read
    return [
        TableStep("retrieval", third, third, str(read), str(three)),
        TableStep("schema", f"{one}+{two}", f"{first}+{second}", str(total), str(one + two)),
        TableStep("reasoning", f"{total}+{read}", f"{total}+{read}", str(result), str(total + read)),
    ]


def shown_step(step: TableStep, *, prefix: bool) -> str:
    """Write a step for the verifier, a schema step after its sub-table.

    Example:
        schema, 45+50, b1+c2, 93  ->  "[45 50]b1+c2=93", and "b1+c2=93" without prefix
    """
    table = f"[{step.check.replace('+', ' ')}]" if prefix and step.kind == "schema" else ""
    return f"{table}{step.left}={step.claim}"


def _slip(rng: random.Random, number: int) -> int:
    """Change one of the last two digits; the number of digits stays."""
    while True:
        unit = rng.choice((1, 10))
        other = number + unit * rng.choice((-3, -2, -1, 1, 2, 3))
        if len(str(other)) == len(str(number)) and other > 0:
            return other


def verifier_task(
    name: str,
    cells: dict[str, int],
    asked: Sequence[str],
    steps: Sequence[TableStep],
    *,
    terse: bool = False,
    prefix: bool = True,
) -> Task:
    """Make the verifier's task from a table, a question and the steps of a trajectory.

    Args:
        name: id of the task.
        asked: cells of the question.
        terse: the expert uses no tool.
        prefix: show the sub-table of a schema step.

    Returns:
        A task with cells, steps and labels in the metadata; the answer has a + or - for each step.
    """
    shown = "\n".join(f"{row} {' '.join(str(cells[row + column]) for column in COLUMNS)}" for row in ROWS)
    written = "\n".join(shown_step(step, prefix=prefix) for step in steps)
    metadata = {
        "cells": cells,
        "steps": [step._asdict() for step in steps],
        "labels": [step.label for step in steps],
        "terse": terse,
    }
    answer = "".join(LABEL_TEXTS[step.label] for step in steps)
    return Task(name, (Message("user", f"{shown}\n{'+'.join(asked)}?\n{written}"),), answer, None, metadata)


def _task(split: Split, seed: int, number: int, terse: float, faults: float, prefix: bool) -> Task:
    rng = random.Random(derive_seed("table_steps", split, seed, number))
    cells = draw_cells(rng, split)
    asked = rng.sample(CELLS, 3)
    name = f"table_steps-{split}-{seed}-{number}"
    silent = derive_seed("terse", name) % PARTS < terse * PARTS
    return verifier_task(name, cells, asked, draw_chain(rng, cells, asked, faults=faults), terse=silent, prefix=prefix)


def draw_cells(rng: random.Random, split: Split) -> dict[str, int]:
    """Draw a table, by cell; no table is in both splits."""
    while True:
        cells = {cell: rng.randint(11, 99) for cell in CELLS}
        if content_split("table_steps split", *cells.values()) == split:
            return cells


def _tool_env(tools: Sequence[Any]) -> EnvFactory:
    def of(cells: dict[str, int]) -> EnvFactory:
        return tool_chat([lambda: TableCells(cells), *tools])

    def make(task: Task) -> Env:
        return of(task.metadata.get("cells", {}))(task)

    return inherit_bound(make, of({}))


def _expert(task: Task, facts: Facts) -> Message:
    """Call the tool of a step, and write the verdict of the step before; without tools, write all verdicts at once."""
    steps = [TableStep(**one) for one in task.metadata["steps"]]
    texts = [verdict_text(step.value, step.claim) for step in steps]
    if "lookup" not in facts["tools"] or task.metadata["terse"]:
        return Message("assistant", " ".join(texts))
    turn = facts["turn"]
    calls = tuple(grounded_call(step.check) for step in steps[turn : turn + 1])
    return Message("assistant", "".join(texts[turn - 1 : turn]) if turn else "", calls)


def _hits(one: Trajectory, kinds: Sequence[str] = ("retrieval", "schema", "reasoning")) -> int:
    verdicts = read_verdicts(one)
    return sum(
        verdict is not None and verdict.label == label and step["kind"] in kinds
        for verdict, label, step in zip(verdicts, one.task.metadata["labels"], one.task.metadata["steps"])
    )


def _calls(one: Trajectory) -> list[ToolCall]:
    return [grounded_call(step["check"]) for step in one.task.metadata["steps"]]


def _count(one: Trajectory) -> float:
    return float(len(one.task.metadata["steps"]))


GAUGES = {
    "right_labels": RatioMetric(lambda one, right: float(_hits(one)), lambda one, right: _count(one)),
    "table_steps": RatioMetric(lambda one, right: float(_hits(one, ("retrieval", "schema"))), lambda one, right: 2.0),
    "reasoning_steps": RatioMetric(lambda one, right: float(_hits(one, ("reasoning",))), lambda one, right: 1.0),
    "supported": RatioMetric(lambda one, right: float(sum(supports(one, _calls(one)))), lambda one, right: _count(one)),
    "formed": RatioMetric(
        lambda one, right: float(sum(verdict is not None for verdict in read_verdicts(one))),
        lambda one, right: _count(one),
    ),
}
"""Metrics of every evaluation."""
