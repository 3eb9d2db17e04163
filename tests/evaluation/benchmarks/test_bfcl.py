"""The table of bfcl: groups by hand, undefined groups, and every category of the world."""

import pytest

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.benchmarks.benchmark import PartResult
from handaxe.evaluation.benchmarks.bfcl import NOT_HERE, bfcl, bfcl_table
from handaxe.worlds.bfcl.package import MULTI_TURN, SINGLE_TURN


def part(correct, tasks, size=None, scored=True):
    made = [
        TaskResult(str(n), 1, int(scored), int(scored and n < correct), 0.0, 0.0, 0.0, 0.0, 0.0, {})
        for n in range(tasks)
    ]
    return PartResult(tuple(made), tasks if size is None else size, 0 if scored else tasks)


BY_HAND = {
    "simple_python": part(6, 10),
    "simple_java": part(3, 10),
    "simple_javascript": part(3, 10),
    "multiple": part(5, 10),
    "parallel": part(2, 10),
    "parallel_multiple": part(1, 10),
    "irrelevance": part(9, 10),
    "live_simple": part(4, 10, size=30),
    "live_multiple": part(2, 10, size=60),
    "live_parallel": part(1, 2, size=4),
    "live_parallel_multiple": part(0, 6),
    "live_irrelevance": part(5, 10),
    "live_relevance": part(3, 4),
    "multi_turn_base": part(4, 10),
    "multi_turn_miss_func": part(2, 10),
    "multi_turn_miss_param": part(1, 10),
    "multi_turn_long_context": part(1, 10),
}


def rows(table):
    return {row[0].strip(): dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_groups_by_hand():
    """simple (0.6 + 0.3 + 0.3) / 3 = 0.4; Non-Live (0.4 + 0.5 + 0.2 + 0.1) / 4; Live weighted by all questions."""
    table = bfcl_table(BY_HAND)
    found = {name: row["accuracy"] for name, row in rows(table).items()}
    assert found["Non-Live"] == pytest.approx(0.3, abs=1e-12)
    assert found["Live"] == pytest.approx((30 * 0.4 + 60 * 0.2 + 4 * 0.5 + 6 * 0) / 100, abs=1e-12)
    assert found["Multi Turn"] == pytest.approx(0.2, abs=1e-12)
    assert found["Irrelevance"] == pytest.approx(0.7, abs=1e-12)
    assert found["Relevance"] == found["live_relevance"] == 0.75
    assert rows(table)["Non-Live"]["tasks"] == 60 and rows(table)["Live"]["low"] is None
    python = rows(table)["simple_python"]
    assert 0 < python["low"] < 0.6 < python["high"] < 1
    assert len(table.rows) == len(BY_HAND) + 5
    assert all(name in table.notes[0] for name in NOT_HERE)


def test_a_group_with_an_unscored_category_is_undefined():
    """The answer to an irrelevant question that the policy could not read would be correct: an empty turn."""
    table = bfcl_table({**BY_HAND, "irrelevance": part(0, 10, scored=False)})
    found = rows(table)
    assert (found["Irrelevance"]["accuracy"], found["irrelevance"]["accuracy"]) == (None, None)
    assert (found["Irrelevance"]["scored"], found["Irrelevance"]["tasks"]) == (10, 20)
    assert found["live_irrelevance"]["accuracy"] == 0.5 and found["Non-Live"]["accuracy"] is not None
    assert any(note.startswith("10 of 152 rollouts have no score") for note in table.notes)


def test_every_category_of_the_world_is_a_part():
    assert {one.name for one in bfcl().parts} == {*SINGLE_TURN, *MULTI_TURN} == set(BY_HAND)
