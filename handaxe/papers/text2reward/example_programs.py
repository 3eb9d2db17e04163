"""Instructions and reward programs of other tasks, the pool for requests to a language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from handaxe.core.errors import InputError

__all__ = ["EXAMPLES", "Example", "read_examples"]


class Example(NamedTuple):
    """Instruction of a task, and a program for it."""

    instruction: str
    program: str


def _program(body: str, components: str) -> str:
    return f"def compute_reward(before, after):\n{body}    return total, {{{components}}}\n"


EXAMPLES: Sequence[Example] = (
    Example(
        "Answer arithmetic questions by calls of a calculator, with as few failed calls as possible.",
        _program(
            '    worked = after["ok"] - before["ok"]\n'
            '    broken = after["failed"] - before["failed"]\n'
            "    total = 0.2 * worked - 0.5 * broken\n",
            '"worked": 0.2 * worked, "broken": -0.5 * broken',
        ),
    ),
    Example(
        "Look up facts in a table and answer in few turns and with short messages.",
        _program(
            '    found = 1.0 if after["ok"] > before["ok"] else 0.0\n'
            '    words = (after["tokens"] - before["tokens"]) / 100.0\n'
            "    total = found - 0.1 * words - 0.05\n",
            '"found": found, "words": -0.1 * words, "time": -0.05',
        ),
    ),
    Example(
        "Walk through a grid with walls to a goal; the environment reports the position and the distance to the goal.",
        _program(
            '    nearer = before["distance"] - after["distance"]\n'
            '    stuck = 1.0 if after["x"] == before["x"] and after["y"] == before["y"] else 0.0\n'
            "    total = nearer - 0.2 * stuck\n",
            '"nearer": nearer, "stuck": -0.2 * stuck',
        ),
    ),
    Example(
        "Pick up an object, carry it to a shelf and put it down there, without a collision.",
        "import math\n\n\n"
        + _program(
            '    lifted = after["holding"] - before["holding"]\n'
            '    close = math.exp(-after["gap"]) - math.exp(-before["gap"])\n'
            '    hit = after["collisions"] - before["collisions"]\n'
            "    total = lifted + close - hit\n",
            '"lifted": lifted, "close": close, "hit": -hit',
        ),
    ),
    Example(
        "Read the pages of a website and fill in a form; every page that loads and every filled field is progress.",
        _program(
            '    fields = after["filled"] - before["filled"]\n'
            '    errors = after["failed"] - before["failed"]\n'
            "    total = 0.5 * fields - 0.2 * errors\n",
            '"fields": 0.5 * fields, "errors": -0.2 * errors',
        ),
    ),
    Example(
        "Query a database in steps; a query that returns rows is good, a repeated error is bad.",
        _program(
            '    rows = min(after["rows"], 10.0) / 10.0\n'
            '    again = 1.0 if after["failed"] > before["failed"] > 0 else 0.0\n'
            "    total = rows - again\n",
            '"rows": rows, "again": -again',
        ),
    ),
)


def read_examples(file: str) -> Sequence[Example]:
    """Read a pool from a file of JSON Lines, each an object with "instruction" and "program"; EXAMPLES for "".

    Raises:
        InputError: the file cannot be read, is empty, or a line lacks one of the two texts; the message names the line.

    Example:
        a file with the line {"instruction": "walk", "program": "x = 1"}  ->  [Example("walk", "x = 1")]

    Idea: the pool of Text2Reward (arXiv:2309.11489); a user has programs of own tasks.
    """
    if not file:
        return EXAMPLES
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--pool {file}: {error}") from error
    found = [_example(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise InputError(f"--pool {file} has no example: write one JSON object a line, with instruction and program")
    return found


def _example(file: str, number: int, line: str) -> Example:
    try:
        body = json.loads(line)
    except ValueError as error:
        raise InputError(f"--pool {file}, line {number}: no JSON: {error}") from error
    texts = [body.get(key) if isinstance(body, dict) else None for key in Example._fields]
    for key, text in zip(Example._fields, texts, strict=True):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f'--pool {file}, line {number}: {key} is {text!r:.60}; give a text under "{key}"')
    return Example(*map(str, texts))
