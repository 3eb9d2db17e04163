"""Preference pairs of answers, ordered by the result of a tool: arithmetic, calendar, lookup, and two calls."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from handaxe.core.errors import Retry
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.people_facts import FIELDS, build_people, lookup_tool
from handaxe.worlds.world import Split

__all__ = ["DOMAINS", "PAIR_TOOLS", "PreferencePair", "tool_pairs", "weekday"]

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FIRST_DAY = datetime.date(2000, 1, 1)
DAY_COUNT = 20_000
SPLITS = 4
"""One problem of four is in test."""


class PreferencePair(NamedTuple):
    """Task with domain and reference calls in the metadata, right answer, wrong answer of equal length."""

    task: Task
    chosen: str
    rejected: str


class _Problem(NamedTuple):
    question: str
    answer: str
    calls: list[dict[str, Any]]


Maker = Callable[[random.Random, Split], _Problem]


@tool(timeout=None)
def weekday(date: str) -> str:
    """Tell the day of the week.

    Args:
        date: such as 2031-05-17

    Raises:
        Retry: it is no date.

    Example:
        weekday("2031-05-17") is "Sat"
    """
    try:
        return DAYS[datetime.date.fromisoformat(date.strip()).weekday()]
    except ValueError:
        raise Retry("give a date such as 2031-05-17") from None


PEOPLE = build_people(seed=0, size=400)
PAIR_TOOLS: tuple[Tool, ...] = (calculator, weekday, lookup_tool(PEOPLE))
"""The tools that decide the pairs."""


def tool_pairs(*, split: Split, count: int, seed: int) -> list[PreferencePair]:
    """Make questions of every domain in turns, each with a right and a wrong answer.

        calculator   product of two numbers of two digits; the wrong answer has one other digit
        calendar     day of the week of a date; another day
        lookup       age, desk or rank of a person; another number of as many digits
        both         desk of a person times a digit, by lookup and calculator; one other digit

    Both answers have the same length, and each wrong answer could be right for another question, so that a judge
    without tools has to know the fact or the product.

    Args:
        split: of the problems: products and dates by a digest, people by halves.
        count: pairs.
        seed: equal seeds give equal pairs; the first k are independent of count.

    Returns:
        Pairs; the metadata of a task has "domain" and "gold_calls".

    Example:
        "57*83=?" with 4731 and 1850, "2031-05-17?" with Sat and Tue, "417 desk?" with 52 and 37

    Idea: TARA (arXiv:2310.01045), pairs for seven tools.
    Differs: three tools without a network, and problems by rule; TARA's traces are written by language models.
    """
    check_count(split, count)
    made = []
    names = list(DOMAINS)
    for number in range(count):
        rng = random.Random(derive_seed("tool pairs", split, seed, number))
        domain = names[number % len(names)]
        problem = DOMAINS[domain](rng, split)
        metadata = {"domain": domain, "gold_calls": problem.calls}
        asked = (Message("user", problem.question),)
        task = Task(f"pair-{split}-{seed}-{number}", asked, problem.answer, None, metadata)
        made.append(PreferencePair(task, problem.answer, _wrong_answer(DOMAINS[domain], problem, rng, split)))
    return made


def _wrong_answer(maker: Maker, problem: _Problem, rng: random.Random, split: Split) -> str:
    """The answer of another problem of the domain, with as many characters."""
    while True:
        other = maker(rng, split).answer
        if other != problem.answer and len(other) == len(problem.answer):
            return other


def _product(rng: random.Random, split: Split) -> _Problem:
    while True:
        left, right = (rng.randint(12, 99) for _ in range(2))
        if _in_split(split, *sorted((left, right))):
            text = f"{left}*{right}"
            return _Problem(f"{text}=?", str(left * right), [_call("calculator", "expression", text)])


def _date(rng: random.Random, split: Split) -> _Problem:
    while True:
        date = FIRST_DAY + datetime.timedelta(rng.randrange(DAY_COUNT))
        text = date.isoformat()
        if _in_split(split, text):
            return _Problem(f"{text}?", DAYS[date.weekday()], [_call("weekday", "date", text)])


def _fact(rng: random.Random, split: Split) -> _Problem:
    name, field = _person(rng, split), rng.choice(list(FIELDS))
    call = _call("lookup", "fact", f"{name} {field}")
    return _Problem(f"{name} {field}?", str(PEOPLE.facts[name, field]), [call])


def _fact_product(rng: random.Random, split: Split) -> _Problem:
    name, factor = _person(rng, split), rng.randint(2, 9)
    desk = PEOPLE.facts[name, "desk"]
    calls = [_call("lookup", "fact", f"{name} desk"), _call("calculator", "expression", f"{desk}*{factor}")]
    return _Problem(f"{name} desk*{factor}=?", str(desk * factor), calls)


def _person(rng: random.Random, split: Split) -> str:
    return rng.choice(PEOPLE.halves[0 if split == "train" else 1])


def _in_split(split: Split, *key: Any) -> bool:
    return (derive_seed("tool pairs", *key) % SPLITS == 0) == (split == "test")


def _call(name: str, parameter: str, value: str) -> dict[str, Any]:
    return {"name": name, "arguments": {parameter: value}}


DOMAINS: Mapping[str, Maker] = {
    "calculator": _product,
    "calendar": _date,
    "lookup": _fact,
    "both": _fact_product,
}
"""Domain -> maker of a problem."""
