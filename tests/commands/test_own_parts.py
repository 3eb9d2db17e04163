"""Bugs in methods and worlds of the user at the command line: one line with file and line, and no folder in the way."""

import json
import re
import sys

import pytest

from handaxe.cli import main

OWN = """
import numpy as np

from handaxe.core.records import Advantages
from handaxe.credit.group_norm import group_norm
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import replace


def broken_credit(group, scores):
    return 1 / 0  # credit


def broken_select(rated):
    return rated[0].nothing  # select


def broken_surrogate(*given):
    return {}["a"]  # loss


def nan_credit(group, scores):
    centred = scores.outcome - scores.outcome.mean()
    return Advantages(tuple(tuple(a * s.mask for s in t.sequences) for a, t in zip(centred, group)))


def credit(base):
    return replace(base, credit=broken_credit)


def select(base):
    return replace(base, select=broken_select)


def loss(base):
    return replace(base, surrogate=broken_surrogate)


def nan(base):
    return replace(base, credit=nan_credit)


def none(base):
    return replace(base, select=lambda rated: None)


def correct(base):
    return replace(base, credit=lambda group, scores: group_norm()(group, scores))


def world():
    raise ValueError("no data")  # world
"""
RUN = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--max-tokens", "8", "--quiet"]


@pytest.fixture
def here(tmp_path, monkeypatch, small_model):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_parts", raising=False)
    (tmp_path / "own_parts.py").write_text(OWN)
    return ["--model", str(small_model), *RUN]


def line(mark):
    return 1 + next(k for k, text in enumerate(OWN.splitlines()) if text.endswith(f"# {mark}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "part, error",
    [
        ("credit", "in broken_credit: ZeroDivisionError: division by zero"),
        ("select", "in broken_select: AttributeError: 'RatedGroup' object has no attribute 'nothing'"),
        ("loss", "in broken_surrogate: KeyError: 'a'"),
    ],
)
def test_a_bug_in_a_part_is_one_line_and_the_same_folder_can_be_used_again(here, tmp_path, capsys, part, error):
    for _ in range(2):
        assert main(["train", f"own_parts:{part}", *here, "--out", "run"]) == 1
        shown = capsys.readouterr().err
        assert f"error: {tmp_path / 'own_parts.py'}, line {line(part)}, {error}\n--debug shows" in shown
    assert main(["train", "own_parts:correct", *here, "--out", "run"]) == 0
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())["recipe"]
    assert recipe["name"] == "own_parts:correct" and set(recipe["sources"]["modules"]) == {"own_parts"}
    assert main(["train", "own_parts:correct", *here, "--out", "run"]) == 2
    assert "there is a run in run already" in capsys.readouterr().err


def test_a_bug_in_a_world_is_one_line(here, tmp_path, capsys):
    assert main(["train", "grpo", "--world", "own_parts:world", *here, "--out", "run"]) == 1
    shown = capsys.readouterr().err
    assert f"error: {tmp_path / 'own_parts.py'}, line {line('world')}, in world: ValueError: no data\n" in shown


@pytest.mark.parametrize(
    "part, error",
    [
        ("nan", "the credit 'nan_credit' breaks its contract: tokens of .* is not finite, in a group with an unscored"),
        ("none", "returned NoneType and no list of RatedGroup: return the groups"),
    ],
)
def test_a_part_that_breaks_its_contract_is_named_in_the_first_step(here, capsys, part, error):
    assert main(["train", f"own_parts:{part}", *here, "--out", "run"]) == 2
    (shown,) = [one for one in capsys.readouterr().err.splitlines() if one.startswith("error: ")]
    assert re.search(error, shown)


def test_training_without_named_tools_is_reported(here, tmp_path, capsys):
    rows = [json.dumps({"question": f"{k}+{k}?", "answer": 2 * k}) for k in range(40)]
    (tmp_path / "sums.jsonl").write_text("\n".join(rows))
    world = ["--world", "jsonl", "--world.file", "sums.jsonl"]
    assert main(["train", "grpo", *world, *here, "--out", "run"]) == 0
    assert capsys.readouterr().err.count("warning: world jsonl has no tools, and none are named") == 1
    assert main(["train", "grpo", *world, *here, "--tools", "none", "--out", "other"]) == 0
    assert "no tools" not in capsys.readouterr().err


def test_a_device_without_a_gpu_is_refused_before_the_run(here, tmp_path, capsys):
    assert main(["train", "grpo", *here, "--engine.device", "gpu", "--out", "run"]) == 2
    assert "error: device 'gpu' is unknown; give cpu, cuda or cuda:1" in capsys.readouterr().err
    assert not (tmp_path / "run" / "record.sqlite").exists()
