"""Trajectories of the tool graph for fine-tuning."""

from types import SimpleNamespace

import pytest

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.astra.graph_lessons import graph_lessons, lesson_tasks
from handaxe.papers.astra.graph_tasks import chain_runs, observed_graph, question_score
from handaxe.papers.astra.records import TABLES, make_records
from handaxe.papers.astra.trajectory_axes import trajectory_axes

SITE = SimpleNamespace(format=Compact(), seed=3, engine=SimpleNamespace(max_length=512))


def test_the_better_half_of_the_trajectories_is_taught():
    every, half = (graph_lessons(tasks=24, keep=keep)(SITE) for keep in (1.0, 0.5))
    means = [trajectory_axes(one).mean for one in every]
    assert means == sorted(means, reverse=True) and len(half) == 12
    assert [one.id for one in half] == [one.id for one in every[:12]]
    assert any(reply.status != "ok" for one in every for reply in one.replies), "tools fail at times"


def test_tasks_come_from_walks_that_run_and_are_of_the_training_half():
    records = make_records(seed=0, size=200)
    held_out = {name for kind in records.halves for name in records.halves[kind][1]}
    tasks = lesson_tasks(24, 0)
    assert tasks == lesson_tasks(24, 0) and len({one.id for one in tasks}) == 24
    for task in tasks:
        subs = task.metadata["sub_questions"]
        assert not {one[1] for one in subs} & held_out
        assert all(records.facts[one[0], one[1]] == one[2] for one in subs)


def test_edges_that_do_not_fit_are_observed_and_fail():
    records, graph = make_records(seed=0, size=200), observed_graph(0)
    wrong = [(a, b) for a, edges in graph.edges.items() for b in edges if TABLES[a][1] != TABLES[b][0]]
    fit = [(a, b) for a, edges in graph.edges.items() for b in edges if TABLES[a][1] == TABLES[b][0]]
    assert wrong and fit
    for chain in (*wrong, *fit):
        start = records.halves[TABLES[chain[0]][0]][0][0]
        assert chain_runs(records, start, chain) == (chain in fit)


def test_scores_of_a_question():
    (task,) = lesson_tasks(1, 5)
    parts = {}
    for table, key, _, parent, part in task.metadata["sub_questions"]:
        parts.setdefault(part, [key, []])[1].append(table) if parent >= 0 or part not in parts else None
    parts = [(start, tables) for start, tables in parts.values()]
    assert question_score(parts, task) == 1
    assert question_score([(start, [*tables, "aunt"]) for start, tables in parts], task) == pytest.approx(2 / 3)


def test_wrong_input():
    for options in ({"tasks": 0}, {"keep": 0.0}, {"keep": 1.5}):
        with pytest.raises(InputError, match="above 0 up to 1"):
            graph_lessons(**options)
