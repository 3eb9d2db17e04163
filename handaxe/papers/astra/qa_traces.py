"""Questions with answers and the documents that were read for them; some are flawed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

from handaxe.papers.astra.records import TABLES, TypedRecords

__all__ = ["Document", "FLAWS", "QaTrace", "SHAPES", "chain_of_tables", "question_of", "trace_of"]

Document = tuple[str, str, str]
"""Table, or two tables with a blank between them, key and value."""
Flaw = Literal["", "stated", "compound", "missing", "longer"]
FLAWS: tuple[Flaw, ...] = ("stated", "compound", "missing", "longer")
SHAPES = ((1, 1), (1, 2), (2, 1), (1, 3), (2, 2))
"""(Independent parts, tables of each part)."""


class QaTrace(NamedTuple):
    """A question with answer and documents.

    Example:
        QaTrace("1204 town mayor?", "3071", (("town", "1204", "4410"), ("mayor", "4410", "3071")))
    """

    question: str
    answer: str
    documents: tuple[Document, ...]


def chain_of_tables(start: str, length: int, rng: random.Random) -> list[str]:
    """Draw a chain of tables; the key of each table has the kind of the value of the previous table.

    Args:
        start: kind of the first key.
        length: tables, 0 or more.
        rng: of the tables, all with equal probability.

    Example:
        ("person", 2) -> ["town", "mayor"], but never ["town", "boss"]: a town is a place, and a person has a boss

    Idea: questions of several hops with typed relations.
    """
    tables, kind = list[str](), start
    for _ in range(length):
        tables.append(rng.choice([table for table, (source, _) in TABLES.items() if source == kind]))
        kind = TABLES[tables[-1]][1]
    return tables


def question_of(parts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Word a question.

    Example:
        [("1204", ["town", "mayor"]), ("7310", ["seat"])] -> "1204 town mayor, 7310 seat?"

    Idea: key words in place of sentences, for tiny policies.
    """
    return f"{', '.join(' '.join([start, *tables]) for start, tables in parts)}?"


def trace_of(
    records: TypedRecords, parts: Sequence[tuple[str, Sequence[str]]], rng: random.Random, *, flaw: Flaw = ""
) -> QaTrace:
    """Look up the answer of a question, and list its documents among two others.

    Flaws, of the first part, if its chain is long enough:

        stated     the question says a name in the middle of the chain
        compound   one document answers the first two tables together
        missing    the document of the last table is not there
        longer     the question has one more table than the answer

    Args:
        records: the facts.
        parts: first name, and tables that follow it.
        rng: draws the other documents.
        flaw: see above.

    Example:
        "1204 town mayor?" -> answer "3071", documents (town, 1204, 4410), (mayor, 4410, 3071) and two others

    Paper: arXiv:2601.21558 (ASTRA), question-answer traces as source of environments.
    Differs: a generator writes traces and flaws; the paper collects questions, answers and documents.
    """
    documents, answers = list[Document](), list[str]()
    stated = ""
    for number, (start, tables) in enumerate(parts):
        key, path = start, list[Document]()
        for table in tables:
            path.append((table, key, records.facts[table, key]))
            key = path[-1][2]
        answers.append(key)
        if number == 0 and flaw == "compound" and len(path) > 1:
            (first, start_key, _), (second, _, value) = path[:2]
            path[:2] = [(f"{first} {second}", start_key, value)]
        if number == 0 and flaw == "missing":
            path.pop()
        if number == 0 and flaw == "longer" and len(path) > 1:
            answers[0] = path[-1][1]
        if number == 0 and flaw == "stated" and len(path) > 1:
            stated = f" ({path[0][2]})"
        documents += path
    known = list(records.facts.items())
    documents += [(table, key, value) for (table, key), value in rng.sample(known, 2)]
    rng.shuffle(documents)
    question = question_of(parts)
    return QaTrace(f"{question[:-1]}{stated}?" if stated else question, ", ".join(answers), tuple(documents))
