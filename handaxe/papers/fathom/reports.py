"""Reports on facts with their sources, from the results of searches, after a plan or without one."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.outcome import outcome
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.people_facts import FIELDS, PersonQuestion, build_people, people_tasks
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["CitedFact", "planned_sources", "report_text", "reports", "statements"]

Form = Literal["plan", "cite", "bare"]
FORMS: tuple[Form, ...] = ("plan", "cite", "bare")
STATEMENT = re.compile(r"(\d{3} (?:age|desk|rank)) (\d{1,2})\b(?: \[(\d)\])?")
ENTRY = re.compile(r"(\d{3} (?:age|desk|rank)) \[(\d)\](?=[;|])")
END = "|"
"""Ends the plan."""
START = Start(skill=500, steps=0, batch_size=12)


class CitedFact(NamedTuple):
    """Sentence of a report: fact, value, and number of the source, 0 without one."""

    fact: str
    value: str
    source: int


def reports(*, form: Form = "plan", asked: int = 2, others: int = 2, size: int = 200, world_seed: int = 0) -> World:
    """Reports on facts of people; the task holds the results of the searches, each with a number.

        plan   the source of each fact, then a sentence for each fact with the number of its source
        cite   the sentences alone
        bare   the sentences without numbers

    A report is correct if its sentences are the asked facts with their values, each with the number
    of its result; in the form "bare", numbers are not read.

    Args:
        form: of the expert's reports, and of a correct report.
        asked: facts of a report, 1 to 4.
        others: further results, of other people, 0 to 5.
        size, world_seed: of the people, see `people_facts`.

    Returns:
        A world without tools. Gauges: stated (share of the asked facts with the right value), cited (share of the
        sentences with a source of equal fact and value) and planned (share of the asked facts with the right source in
        the plan).

    Raises:
        InputError: another form, or a number out of range.

    Example:
        "305 rank 7 [1]\\n233 age 40 [2]\\n417 desk 52 [3]\\nreport 417 desk, 233 age": the plan
        "417 desk [3];233 age [2]|" and the report "417 desk 52 [3]. 233 age 40 [2]."

    Paper: arXiv:2509.24107 (Fathom), the synthesizer, which plans a report from evidence and cites it.
    Unconfirmed: the form of the plan.
    Differs: evidence has a line a source, and a report repeats the lines of the asked facts.
    """
    if form not in FORMS or not 1 <= asked <= 4 or not 0 <= others <= 5:
        raise InputError(
            f"reports takes the form {', '.join(FORMS)}, 1 to 4 asked facts and 0 to 5 others, "
            f"not {form!r}, {asked} and {others}"
        )
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> PersonQuestion:
        half = next(own for own in people.halves if name in own)
        names = [name, *rng.sample([one for one in half if one != name], asked + others - 1)]
        facts = [(one, rng.choice(list(FIELDS))) for one in names]
        wanted = [f"{one} {field}" for one, field in facts[:asked]]
        shown = rng.sample(facts, len(facts))
        sources: dict[str, list[str | int]] = {
            f"{one} {field}": [str(people.facts[one, field]), n + 1] for n, (one, field) in enumerate(shown)
        }
        lines = [f"{fact} {value} [{number}]" for fact, (value, number) in sources.items()]
        metadata = {"asked": wanted, "sources": sources}
        text = "\n".join([*lines, f"report {', '.join(wanted)}"])
        return PersonQuestion(text, report_text(wanted, sources, "cite"), metadata)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        key = ("reports", form, asked, others, world_seed, size)
        return people_tasks(people, key=key, count=count, seed=seed, split=split, ask=ask)

    def expert(task: Task, facts: Facts) -> Message:
        del facts
        return Message("assistant", report_text(task.metadata["asked"], task.metadata["sources"], form))

    return World(
        name="reports",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(lambda one: _is_right(one, cites=form != "bare")),
        is_answer=is_text_answer,
        expert=expert,
        start=START,
        gauges=GAUGES,
    )


def report_text(asked: list[str], sources: Mapping[str, list[str | int]], form: Form) -> str:
    """Write a report.

    Example:
        ["417 desk"], {"417 desk": ["52", 3]}: "417 desk [3]|417 desk 52 [3]." with a plan, "417 desk 52." when bare
    """
    cites = "" if form == "bare" else " [{}]"
    said = [f"{fact} {sources[fact][0]}{cites.format(sources[fact][1])}." for fact in asked]
    plan = ";".join(f"{fact} [{sources[fact][1]}]" for fact in asked) + END if form == "plan" else ""
    return plan + " ".join(said)


def statements(text: str) -> list[CitedFact]:
    """Read the sentences of a report, without the plan.

    Example:
        "417 desk [3]|417 desk 52 [3]. 233 age 40." is ("417 desk", "52", 3) and ("233 age", "40", 0)
    """
    found = STATEMENT.findall(text.rpartition(END)[2])
    return [CitedFact(fact, value, int(source or 0)) for fact, value, source in found]


def planned_sources(text: str) -> dict[str, int]:
    """Read the sources of a plan; {} without a plan.

    Example:
        "417 desk [3];233 age [2]|417 desk 52 [3]." is {"417 desk": 3, "233 age": 2}
    """
    plan, end, _ = text.partition(END)
    return {fact: int(source) for fact, source in ENTRY.findall(plan + end)}


def _holds(one: Trajectory, said: CitedFact) -> bool:
    value, number = one.task.metadata["sources"].get(said.fact, ("", 0))
    return said.source == number and said.value == value


def _is_right(one: Trajectory, *, cites: bool) -> float:
    said, asked = statements(one.final_text), list(one.task.metadata["asked"])
    whole = [one_said.fact for one_said in said] == asked and _stated(one) == len(asked)
    return float(whole and (not cites or all(_holds(one, one_said) for one_said in said)))


def _stated(one: Trajectory) -> float:
    sources = one.task.metadata["sources"]
    said = {s.fact: s.value for s in statements(one.final_text)}
    return float(sum(said.get(fact) == sources[fact][0] for fact in one.task.metadata["asked"]))


def _planned(one: Trajectory) -> float:
    sources, plan = one.task.metadata["sources"], planned_sources(one.final_text)
    return float(sum(plan.get(fact) == sources[fact][1] for fact in one.task.metadata["asked"]))


def _asked(one: Trajectory) -> float:
    return float(len(one.task.metadata["asked"]))


GAUGES = {
    "stated": RatioMetric(lambda one, right: _stated(one), lambda one, right: _asked(one)),
    "cited": RatioMetric(
        lambda one, right: float(sum(_holds(one, said) for said in statements(one.final_text))),
        lambda one, right: float(len(statements(one.final_text))),
    ),
    "planned": RatioMetric(lambda one, right: _planned(one), lambda one, right: _asked(one)),
}
"""Metrics of every evaluation."""
