import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.group_records import recorded_group

from handaxe.cli import main
from handaxe.core.records import Group, Scores
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.training.record.run_record import RunRecord
from handaxe.view.exports.jsonl import read_jsonl

HOSTILE = "\x1b[2J[red]<script>\u202e"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "first"
    with RunRecord(folder) as record:
        for step in range(30):
            task = make_task(id=f"t{step}")
            texts = [[HOSTILE], ["plain"]]
            siblings = [
                make_trajectory(task=task, texts=texts[k], calls=[["look"] * k], replies=[[]], id=f"{step}/{k}")
                for k in (0, 1)
            ]
            scores = Scores(np.array([1.0, 0.0]))
            record.write_step(step, [recorded_group(Group(task, tuple(siblings), step), scores)], {})
    return folder


def test_rollouts_are_listed(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["trajectories", str(folder), "--where", "outcome:correct step:3.."]) == 0
    shown = capsys.readouterr().out
    assert (
        "20 of 28" in shown
        and "\\x1b[2J[red]<script>\\u202e" in shown
        and "\x1b" not in shown
        and "\u202e" not in shown
    )
    assert "handaxe show" in shown
    rows = re.findall(r"^ +(\d+) +(t\d+) +(\d+) ", shown, re.MULTILINE)
    assert rows[0] == ("3", "t2", "1") and rows[-1] == ("22", "t21", "1")


def test_task_is_chosen_by_a_unique_start(folder, capsys):
    assert main(["trajectories", str(folder), "--where", "task:t29"]) == 0
    assert main(["trajectories", str(folder), "--where", "task:t"]) == 2
    assert "'t' is the start of 30 task ids in this run: t0, t1, t10" in capsys.readouterr().err
    assert main(["trajectories", str(folder), "--where", "step:0"]) == 2
    assert "steps count from 1" in capsys.readouterr().err


def test_found_rollouts_are_written(folder, tmp_path, capsys):
    out, found = tmp_path / "out.jsonl", tmp_path / "found.json"
    words = ["--where", "tool:look step:4..5", "--out", str(out), "--json", str(found)]
    assert main(["trajectories", str(folder), *words]) == 0
    assert (
        [one.trajectory.id for one in read_jsonl(out)]
        == ["3/1", "4/1"]
        == [one["id"] for one in json.loads(found.read_text())["found"]]
    )
    assert "2 of 2 to" in capsys.readouterr().out
    words = ["--order", "score", "--descending", "--most", "3", "--out", str(out)]
    assert main(["trajectories", str(folder), *words]) == 0
    assert [one.total for one in read_jsonl(out)] == [1.0] * 3


@pytest.mark.parametrize(
    ("to", "name", "package"), [("inspect", "run.eval", "inspect_ai"), ("dataset", "set", "datasets")]
)
def test_rollouts_are_exported_for_other_programs(folder, tmp_path, capsys, to, name, package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    out = tmp_path / name
    assert main(["trajectories", str(folder), "--where", "step:1", "--to", to, "--out", str(out)]) == 0
    assert Path(out).exists() and ("inspect view" in capsys.readouterr().out) == (to == "inspect")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--where", "outcome:great"], "no outcome 'great'"),
        (["--most", "-1"], "--most is -1"),
        (["--order", "colour"], "no order 'colour'"),
        (["--to", "inspect", "--out", "x.txt"], "let it end in .eval"),
    ],
)
def test_wrong_arguments_are_an_error(folder, capsys, words, message):
    assert main(["trajectories", str(folder), *words]) == 2
    assert message in capsys.readouterr().err
