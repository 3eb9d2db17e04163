"""Trajectories of the tool graph for fine-tuning."""

from types import SimpleNamespace

import pytest

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.astra.graph_lessons import graph_lessons, lesson_tasks
from handaxe.papers.astra.records import make_records
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


def test_wrong_input():
    for options in ({"tasks": 0}, {"keep": 0.0}, {"keep": 1.5}):
        with pytest.raises(InputError, match="above 0 up to 1"):
            graph_lessons(**options)
