"""Questions, answers and documents by hand."""

import random

import pytest

from handaxe.papers.astra.qa_traces import QaTrace, chain_of_tables, question_of, trace_of
from handaxe.papers.astra.records import TABLES, TypedRecords

TOWN = ("town", "1204", "4410")
MAYOR = ("mayor", "4410", "3071")
SEAT = ("seat", "7310", "5526")
OTHERS = (("aunt", "1377", "1500"), ("port", "4093", "6120"))
RECORDS = TypedRecords({(table, key): value for table, key, value in (TOWN, MAYOR, SEAT, *OTHERS)}, {})
PARTS = [("1204", ["town", "mayor"]), ("7310", ["seat"])]


class LastInOrder(random.Random):
    """Draws the last documents, and leaves the order."""

    def sample(self, population, k):
        return list(population)[-k:]

    def shuffle(self, x):
        del x


@pytest.mark.parametrize(
    ("flaw", "trace"),
    [
        ("", QaTrace("1204 town mayor, 7310 seat?", "3071, 5526", (TOWN, MAYOR, SEAT, *OTHERS))),
        ("stated", QaTrace("1204 town mayor, 7310 seat (4410)?", "3071, 5526", (TOWN, MAYOR, SEAT, *OTHERS))),
        (
            "compound",
            QaTrace("1204 town mayor, 7310 seat?", "3071, 5526", (("town mayor", "1204", "3071"), SEAT, *OTHERS)),
        ),
        ("missing", QaTrace("1204 town mayor, 7310 seat?", "3071, 5526", (TOWN, SEAT, *OTHERS))),
        ("longer", QaTrace("1204 town mayor, 7310 seat?", "4410, 5526", (TOWN, MAYOR, SEAT, *OTHERS))),
    ],
)
def test_a_flaw_changes_the_first_part(flaw, trace):
    assert trace_of(RECORDS, PARTS, LastInOrder(), flaw=flaw) == trace


@pytest.mark.parametrize("flaw", ["stated", "compound", "longer"])
def test_a_part_of_one_table_has_no_flaw_of_its_middle(flaw):
    found = trace_of(RECORDS, PARTS[1:], LastInOrder(), flaw=flaw)
    assert found == QaTrace("7310 seat?", "5526", (SEAT, *OTHERS))


def test_a_question_lists_its_parts():
    assert question_of(PARTS) == "1204 town mayor, 7310 seat?"


def test_each_table_of_a_chain_reads_the_kind_that_the_table_before_gives():
    rng = random.Random(0)
    chains = [chain_of_tables("firm", 3, rng) for _ in range(40)]
    assert {chain[0] for chain in chains} == {"owner", "seat"}
    assert all(TABLES[a][1] == TABLES[b][0] for chain in chains for a, b in zip(chain, chain[1:]))
    assert chain_of_tables("firm", 0, rng) == []
