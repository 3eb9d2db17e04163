"""Tests of the table: an expert's success, stored rows, the marks of the page."""

import json
from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.models.load import load
from handaxe.training.sft.small_table import BEGIN, END, NEW, held_out_success, small_table, write_table
from handaxe.worlds.arithmetic import arithmetic


def test_share_counts_correct_rollouts():
    world, policy = arithmetic(easy=0.0), load("tiny")
    played = []

    def all_but_the_first(group):
        played.append(group)
        scores = world.correct(group)
        return replace(scores, outcome=scores.outcome * 0 + (len(played) > 1))

    share = held_out_success(replace(world, correct=all_but_the_first), policy, tasks=4)
    assert share == 0.75 and len({group.task.id for group in played}) == 4
    assert [len(group.trajectories) for group in played] == [1] * 4


def test_measured_rows_are_kept(tmp_path, capsys):
    out = tmp_path / "rows.json"
    rows = small_table(model="tiny", out=out, tasks=2, only=("arithmetic",))
    assert 0 <= rows["arithmetic"]["small"] <= 1 and json.loads(out.read_text()) == rows
    out.write_text(json.dumps({"arithmetic": {"small": 0.5, "seconds": 1.0}}))
    assert small_table(model="tiny", out=out, tasks=2, only=("arithmetic",))["arithmetic"]["small"] == 0.5


def test_page_gets_the_table_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n")
    rows = {
        "hops": {"small": 0.25, "seconds": 1.0, "tiny start": 0.5},
        NEW[0].name: {"small": 0.75, "seconds": 1.0},
    }
    for _ in range(2):
        write_table(page, rows, tasks=80)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}") and text.endswith(f"{END}after\n") and "old" not in text
    assert "| hops | 0.25 | 0.50 | the start is better |" in text
    assert f"| {NEW[0].name} | 0.75 |  | not in the mixture |" in text and "Share of 80 held-out tasks" in text
    page.write_text("no marks")
    with pytest.raises(InputError, match="has no place for the table"):
        write_table(page, rows, tasks=80)
