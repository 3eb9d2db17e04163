"""`handaxe judge`: several judges beside the rule, and the questions of a run."""

import json
import math

import pytest

from handaxe.cli import main

pytest.importorskip("reasoning_gym")
pytest.importorskip("sklearn")
FEW = [
    "--model",
    "tiny",
    "--tasks",
    "4",
    "--rollouts",
    "2",
    "--group-size",
    "2",
    "--judge-labels",
    "32",
    "--judge-min-coverage",
    "0",
]


@pytest.mark.slow
def test_judges_are_compared_with_the_rule(tmp_path, capsys):
    file = tmp_path / "found.json"
    assert main(["judge", "agree", "tp_grpo", "--judge", "head:tiny", "--judge=self", *FEW, "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "8 at 4 held-out tasks of world worked_steps" in shown and "head:tiny" in shown and "auroc" in shown
    found = json.loads(file.read_text())["judges"]
    head, own = found["head:tiny"], found["self"]
    assert head["questions"] == own["questions"] > 8 and head["unanswered"] == 0 and head["tokens"] > 0
    assert head["constant_f1"] == own["constant_f1"]  # the same rollouts and labels
    assert all(0 <= one[name]["value"] <= 1 for one in (head, own) for name in ("accuracy", "constant_f1"))


@pytest.mark.slow
def test_judges_are_attacked_beside_the_rule(tmp_path, capsys):
    file = tmp_path / "found.json"
    few = [*FEW[:2], *FEW[6:], "--scenes", "1", "--json", str(file)]
    assert main(["judge", "attack", "tp_grpo", "--judge", "rule", "--judge", "head:tiny", *few]) == 0
    assert "head:tiny" in capsys.readouterr().out
    found = json.loads(file.read_text())["judges"]
    assert [one["attack"] for one in found["rule"]] == [one["attack"] for one in found["head:tiny"]] != []


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("judged") / "run"
    words = [
        "--model",
        "tiny",
        "--steps",
        "1",
        "--groups",
        "2",
        "--group-size",
        "4",
        "--held-out",
        "2",
        "--judge-labels",
        "32",
    ]
    assert main(["train", "tp_grpo", *words, "--judge", "head:tiny", "--out", str(out)]) == 0
    return out


@pytest.mark.slow
def test_questions_of_a_run_are_shown(run, capsys):
    assert main(["judge", "show", str(run), "--most", "1", "--turn", "1"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "step 1, rollout 0/",
        ", turn 1\n",
        "step.terse@1",
        "right?",
        "labels ",
        "value ",
        "tokens read, 0 written",
    ):
        assert part in shown
    yes = float(shown.partition("labels     yes ")[2].partition(",")[0])
    value = float(shown.partition("value      ")[2].partition("\n")[0])
    assert value == pytest.approx(math.exp(yes), abs=2e-3)
    assert main(["judge", "show", str(run), "--step", "9"]) == 2 and "no question fits" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "say what to do: judge agree, judge attack, judge eval or judge show"),
        (["agree"], "the method is missing"),
        (["agree", "tp_grpo"], "name judges to compare with the rule"),
        (["agree", "tp_grpo", "--judge", "rule"], "name judges to compare with the rule"),
        (["agree", "tp_grpo", "--judge", "tinny"], "tinny"),
        (["agree", "grpo", "--judge", "self", *FEW], "method grpo asks no judge"),
        (["agree", "tp_grpo", "--judge", "self", "--tasks", "0"], "--tasks is 0"),
        (["attack", "tp_grpo"], "name judges to compare with the rule"),
        (["attack", "tp_grpo", "--judge", "rule", "--scenes", "0"], "--scenes is 0"),
        (["show", "nowhere"], "nowhere has no questions to a judge"),
    ],
)
def test_wrong_arguments_are_one_sentence(words, message, capsys):
    assert main(["judge", *words]) == 2
    error = capsys.readouterr().err
    assert message in " ".join(error.split()) and "Traceback" not in error


def test_help(capsys):
    assert main(["judge", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "handaxe judge show RUN" in shown and "handaxe judge eval --judge SOURCE" in shown
