"""Decomposition, its scores, and the need of tools, by hand."""

import random

import pytest

from handaxe.papers.astra.qa_traces import QaTrace, trace_of
from handaxe.papers.astra.records import make_records
from handaxe.papers.astra.sub_questions import Scores4, SubQuestion, decompose, needs_tools, score_decomposition

TOWN, MAYOR = ("town", "1204", "4410"), ("mayor", "4410", "3071")
WHOLE = QaTrace("1204 town mayor?", "3071", (TOWN, MAYOR))


@pytest.mark.parametrize(
    ("trace", "scores"),
    [
        (WHOLE, (1, 1, 1, 1)),
        (QaTrace("1204 town mayor?", "3071", (("town mayor", "1204", "3071"),)), (1, 0, 1, 1)),
        (QaTrace("1204 town mayor?", "3071", (TOWN,)), (1, 1, 1, 0)),
        (QaTrace("1204 town mayor?", "3071", (MAYOR,)), (0, 1, 1, 0)),
        (QaTrace("1204 town mayor (4410)?", "3071", (TOWN, MAYOR)), (1, 1, 0, 1)),
        (QaTrace("1204 town mayor, 4410 mayor?", "3071, 3071", (TOWN, MAYOR)), (1, 1, 0, 1)),
        (QaTrace("1204 town mayor?", "4410", (TOWN, MAYOR)), (1, 1, 1, 0)),
        (QaTrace("1204 town, 4410 mayor?", "4410, 9", (TOWN, MAYOR)), (1, 1, 1, 0.5)),
    ],
)
def test_scores_of_decompositions(trace, scores):
    found = score_decomposition(trace, decompose(trace))
    assert found == Scores4(*scores) and found.mean == pytest.approx(sum(scores) / 4)


def test_a_question_is_read_from_left_to_right():
    assert decompose(WHOLE) == [SubQuestion("town", "1204", "4410", -1, 0), SubQuestion("mayor", "4410", "3071", 0, 0)]
    two = decompose(QaTrace("1204 town, 4410 mayor?", "4410, 3071", (TOWN, MAYOR)))
    assert [(one.parent, one.part) for one in two] == [(-1, 0), (-1, 1)]


def test_a_question_that_says_an_answer_in_the_middle_needs_no_tool():
    stated = QaTrace("1204 town mayor (4410)?", "3071", (TOWN, MAYOR))
    assert needs_tools(WHOLE, decompose(WHOLE)) and not needs_tools(stated, decompose(stated))


@pytest.mark.parametrize("flaw", ["", "stated", "compound", "missing", "longer"])
def test_every_flaw_of_a_trace_is_found(flaw):
    records, rng = make_records(seed=0, size=40), random.Random(0)
    for start in records.halves["person"][0][:10]:
        trace = trace_of(records, [(start, ["town", "port", "mayor"])], rng, flaw=flaw)
        subs = decompose(trace)
        accepted = score_decomposition(trace, subs).mean == 1 and needs_tools(trace, subs)
        assert accepted == (flaw == ""), trace
