"""Chains of the tool graph, parts of questions and their scores, by hand."""

import random

import pytest

from handaxe.core.records import Message, Task
from handaxe.papers.astra.graph_tasks import chain_runs, graph_parts, graph_task, observed_graph, question_score
from handaxe.papers.astra.records import TABLES, TypedRecords, make_records
from handaxe.papers.astra.tool_graph import build_graph

FACTS = {("town", "1204"): "4410", ("town", "1377"): "4093", ("mayor", "4410"): "3071", ("mayor", "4093"): "1204"}


def test_edges_that_do_not_fit_are_observed_and_fail():
    records, graph = make_records(seed=0, size=200), observed_graph(0)
    edges = [(a, b) for a, following in graph.edges.items() for b in following]
    fit = [(a, b) for a, b in edges if TABLES[a][1] == TABLES[b][0]]
    assert 0 < len(fit) < len(edges) and sum(graph.starts.values()) == 200
    for chain in edges:
        start = records.halves[TABLES[chain[0]][0]][0][0]
        assert chain_runs(records, start, chain) == (chain in fit)


def test_a_writer_without_mistakes_gives_edges_that_fit():
    graph = observed_graph(0, chains=50, wrong=0.0)
    assert all(TABLES[a][1] == TABLES[b][0] for a, following in graph.edges.items() for b in following)


@pytest.mark.parametrize(
    ("start", "chain", "runs"),
    [
        ("1204", ["town", "mayor"], True),
        ("1204", ["town", "town"], False),
        ("4410", ["mayor", "town"], False),
        ("4093", ["mayor", "town"], True),
        ("4410", ["town"], False),
    ],
)
def test_a_chain_runs_if_each_result_is_a_key_of_the_next_table(start, chain, runs):
    """1204 lives in 4410, with the mayor 3071, who lives nowhere; 4093 has the mayor 1204."""
    assert chain_runs(TypedRecords(FACTS, {}), start, chain) is runs


def test_half_of_the_questions_have_a_second_walk_and_parts_have_different_names():
    graph, both = build_graph([["town", "mayor"]]), (("1204", "1377"), ())
    one, two = (TypedRecords(FACTS, {"person": own}) for own in ((("1204",), ()), both))
    drawn = [graph_parts(one, graph, random.Random(seed)) for seed in range(50)]
    assert drawn == [[("1204", ["town", "mayor"])]] * 50
    drawn = [graph_parts(two, graph, random.Random(seed)) for seed in range(400)]
    assert abs(sum(len(parts) == 2 for parts in drawn) / 400 - 0.25) < 0.06
    assert all(parts[0][0] != parts[1][0] and len(parts[1][1]) <= 2 for parts in drawn if len(parts) == 2)


def asked(question, *subs):
    return Task("t", (Message("user", question),), None, (), {"sub_questions": subs})


@pytest.mark.parametrize(
    ("question", "parts", "answers", "score"),
    [
        ("1204 town mayor?", [("1204", ["town", "mayor"])], ["4410", "3071"], 1),
        ("1204 town mayor?", [("1204", ["town", "port"])], ["4410", "3071"], 2 / 3),
        ("1204 town mayor?", [("1204", ["town", "mayor"])], ["4410", ""], 1 / 3),
        ("1204 town mayor 3071?", [("1204", ["town", "mayor"])], ["4410", "3071"], 2 / 3),
        ("1204 aunt aunt?", [("1204", ["aunt", "aunt"])], ["1500", "1600"], 2 / 3),
        ("1204 town, 1377 town?", [("1204", ["town"]), ("1377", ["town"])], ["4410", "4093"], 2 / 3),
    ],
)
def test_scores_of_a_question(question, parts, answers, score):
    """A question is wrong in one score each; an empty answer fails the quality, and stands in every text."""
    words = [word for word in question.rstrip("?").replace(",", "").split() if word in TABLES]
    subs = [[word, "", answer] for word, answer in zip(words, answers, strict=True)]
    assert question_score(parts, asked(question, *subs)) == pytest.approx(score)


def test_the_task_of_parts_has_question_answer_and_tools():
    records = TypedRecords(FACTS, {})
    task = graph_task(records, [("1204", ["town", "mayor"])], random.Random(0), name="t")
    assert (task.id, task.messages[0].content, task.answer) == ("t", "1204 town mayor?", "3071")
    assert task.metadata["needed"] == ["mayor", "town"] and len(task.tools) == 5
    stated = [("1204", ["town", "mayor"]), ("4410", ["mayor"])]
    assert graph_task(records, stated, random.Random(0), name="t") is None, "the question states 4410"
