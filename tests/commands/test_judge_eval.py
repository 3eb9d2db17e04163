"""`handaxe judge eval`: judges on benches, controls beside them, coverage, and wrong arguments."""

import json
import math

import pytest

from handaxe.asking.ask import AskAnswer, Spent
from handaxe.cli import main
from handaxe.evaluation.preference_rows import preference_rows

pytest.importorskip("sympy")


class Told:
    """Answers by the fields of a question: 0.9 for what `right` accepts, else 0.2; fails for what `fails` accepts."""

    terse = True

    def __init__(self, right, fails=lambda fields: False):
        self.right, self.fails = right, fails

    def fingerprint(self):
        return "told"

    def answer(self, asks):
        return [self._one(ask) for ask in asks]

    def _one(self, ask):
        if self.fails(ask.fields):
            return AskAnswer(by="told", failure="unavailable")
        yes, no = ask.prompt.labels
        p = 0.9 if self.right(ask.fields) else 0.2
        return AskAnswer(label_logp={yes: math.log(p), no: math.log(1 - p)}, spent=Spent(10, 0, 0.5, 0.25), by="told")


def sums(fields):
    """Exact verdict on a line of a worked sum."""
    line = fields["did"].partition("line ")[2].partition("<")[0]
    left, _, right = line.partition("=")
    return not line or sum(map(int, left.split("+"))) == int(right)


exact = Told(sums)
away = Told(sums, fails=lambda fields: fields["task"].startswith(("1", "2", "3")))
first = Told(lambda fields: True)


@pytest.fixture
def measure(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "found.json"

    def measure(*words):
        assert main(["judge", "eval", *words, "--json", str(file)]) == 0
        shown = capsys.readouterr().out
        notes = ("bench ", "leak ")  # lines that never wrap
        assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith(notes))
        return json.loads(file.read_text()), shown

    return measure


def test_steps_are_judged_beside_the_rule_and_controls(measure):
    found, shown = measure("--bench", "steps", "--tasks", "10", "--judge", "rule", "--judge", f"{__name__}:exact")
    own, rule = found["judges"][f"{__name__}:exact"], found["judges"]["rule"]
    names = ("f1", "error", "clean", "steps", "pair")
    assert all(one[name] == {"value": 1, "low": 1, "high": 1} for one in (own, rule) for name in names)
    assert own["coverage"] == 1 and own["unanswered"] == 0 and own["tasks"] == found["tasks"] == 10
    assert (own["tokens"], own["seconds"], own["cost"]) == (10, 0.5, 0.25)
    assert 0.05 < own["ece"]["value"] < 0.25 and rule["ece"]["value"] == 0  # 0.1 of right steps, 0.2 of wrong steps
    assert set(found["controls"]) == {"longer", "shorter", "first", "yes"}
    assert "(longer)" in shown and "leak" not in shown


def test_questions_without_an_answer_are_counted_and_left_out(measure):
    found, shown = measure("--bench", "steps", "--tasks", "10", "--judge", f"{__name__}:away")
    own = found["judges"][f"{__name__}:away"]
    assert 0 < own["tasks"] < 10 and own["f1"]["value"] == 1  # of the tasks with answers
    assert own["coverage"] == pytest.approx(1 - own["unanswered"] / own["questions"]) and 0 < own["coverage"] < 1
    assert f"{own['coverage']:.2f}" in shown


def test_a_spent_budget_leaves_questions_without_an_answer(measure):
    found, _ = measure("--bench", "steps", "--tasks", "20", "--judge", f"{__name__}:exact", "--judge-budget", "10")
    own = found["judges"][f"{__name__}:exact"]
    assert own["questions"] - own["unanswered"] == 64  # one batch
    found, shown = measure("--bench", "steps", "--tasks", "2", "--judge", f"{__name__}:silent")
    assert found["judges"][f"{__name__}:silent"]["f1"]["value"] is None and "-" in shown


silent = Told(sums, fails=lambda fields: True)


def test_answers_are_judged_alone_and_in_pairs(measure):
    found, _ = measure("--bench", "answers", "--tasks", "8", "--judge", "rule", "--world.easy", "0")
    assert found["judges"]["rule"]["best"]["value"] == 1 and found["judges"]["rule"]["mrr"]["value"] == 1
    found, _ = measure("--bench", "answers", "--tasks", "8", "--judge", f"{__name__}:first", "--pairs")
    own = found["judges"][f"{__name__}:first"]
    assert own["pair"]["value"] == 0.5 and own["same"]["value"] == 0 and own["best"]["value"] == 0.25


def test_calls_are_judged_by_kind_of_error_and_as_the_best_of_n(measure):
    pytest.importorskip("bfcl_eval")
    words = ("--bench", "bfcl_pairs", "--tasks", "4", "--best-of", "6")
    found, shown = measure(*words, "--judge", "rule", "--judge", f"{__name__}:known")
    rule, own = found["judges"]["rule"], found["judges"][f"{__name__}:known"]
    assert rule["pair"]["value"] == 1 and set(rule["kinds"]) == {"function", "name", "value", "missing", "extra"}
    assert own["kinds"]["missing"]["value"] == 0.5  # "known" is blind to it
    assert [one["value"] for one in rule["best_of"]["judge"]] == pytest.approx([n / 6 for n in range(1, 7)])
    assert "(oracle)" in shown and "(mean)" in shown and "extra" in shown and "leak" not in shown


known = Told(lambda fields: True)


def test_ties_are_judged(measure):
    found, shown = measure("--bench", "ties", "--tasks", "4", "--judge", "rule", "--judge", f"{__name__}:first")
    assert found["judges"]["rule"]["ties"]["value"] == pytest.approx(1.01)
    assert found["judges"][f"{__name__}:first"]["ties"]["value"] == 0
    assert found["controls"]["longer"]["pair"]["value"] == 0.5 and "preferred" in shown


def test_rollouts_of_a_policy_are_judged(measure):
    words = ("--bench", "rollouts", "--model", "tiny", "--tasks", "3", "--best-of", "2")
    found, _ = measure(*words, "--judge", "rule", "--judge", f"{__name__}:first")
    rule = found["judges"]["rule"]
    assert rule["questions"] == 6 and rule["right"]["value"] == rule["best_of"]["mean"][1]["value"]
    assert rule["best_of"]["judge"] == rule["best_of"]["oracle"]


def test_a_file_is_judged_and_its_leak_is_named(measure, tmp_path):
    file = tmp_path / "mine.jsonl"
    rows = [{"prompt": f"{k}+2=?", "chosen": f"It is {k + 2}.", "rejected": ["no", str(k)]} for k in range(12)]
    file.write_text("\n".join(map(json.dumps, rows)))
    found, shown = measure("--bench", f"jsonl:{file}", "--judge", f"{__name__}:first")
    assert found["tasks"] == 12 and found["judges"][f"{__name__}:first"]["pair"]["value"] == 0.5
    assert found["controls"]["longer"]["pair"]["value"] == 1 and "(longer) has pair accuracy 1.00" in shown


@pytest.mark.slow
def test_a_head_is_taught_and_answers_every_question(measure):
    pytest.importorskip("sklearn")
    words = ("--bench", "answers", "--tasks", "6", "--judge-labels", "64", "--world.easy", "0")
    found, _ = measure(*words, "--judge", "head:tiny")
    own = found["judges"]["head:tiny"]
    assert own["coverage"] == 1 and own["questions"] == 24 and own["tokens"] > 10


STEPS = ["--bench", "steps"]
RULE = ["--judge", "rule"]


@pytest.mark.parametrize(
    "words, message",
    [
        (RULE, "name a bench, --bench NAME: steps, answers, bfcl_pairs, ties, rollouts, jsonl:PATH"),
        (STEPS, "name judges to measure, --judge SOURCE"),
        (
            [*RULE, "--bench", "rewardbench"],
            "there is no bench 'rewardbench'; there are steps, answers, bfcl_pairs, ties",
        ),
        ([*STEPS, "--judge", "tinny"], "tinny"),
        ([*STEPS, "--judge", "self"], "--judge self is the policy of a run, and here is none: name one, --model NAME"),
        ([*STEPS, "--judge", "self", "--model", "tinny"], "did you mean tiny?"),
        ([*STEPS, *RULE, "--tasks", "0"], "--tasks is 0; give 1 or more"),
        ([*STEPS, *RULE, "--judge-labels", "3"], "--judge-labels is 3; give 4 or more"),
        ([*STEPS, *RULE, "--judge-min-coverage", "1"], "--judge-min-coverage is 1.0"),
        ([*STEPS, *RULE, "--pairs"], "leave --pairs out"),
        ([*STEPS, *RULE, "--best-of", "2"], "leave it out with --bench steps"),
        ([*RULE, "--bench", "answers", "--pairs", "--best-of", "2"], "leave it out with --pairs"),
        ([*RULE, "--bench", "answers", "--best-of", "-1"], "--best-of is -1; give 0 or more"),
        ([*RULE, "--bench", "answers", "--tasks", "2", "--best-of", "5"], "a task of bench answers has 4 candidates"),
        ([*RULE, "--bench", "rollouts"], "needs a policy that plays: name one, --model NAME"),
        ([*STEPS, *RULE, "--world", "arithmetic"], "--world is for bench answers and rollouts"),
        ([*RULE, "--bench", "answers", "--world", "arithmetik"], "there is no world 'arithmetik'"),
        ([*RULE, "--bench", "jsonl:none.jsonl"], "there is no file 'none.jsonl'"),
    ],
)
def test_wrong_arguments_are_one_sentence(words, message, capsys):
    assert main(["judge", "eval", *words]) == 2
    error = capsys.readouterr().err
    assert message in " ".join(error.split()) and "Traceback" not in error


def test_the_rule_has_no_answers_to_a_file(tmp_path, capsys):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"prompt": "a", "chosen": "b", "rejected": "c"}))
    assert main(["judge", "eval", "--bench", f"jsonl:{file}", "--judge", "rule"]) == 2
    assert "no rule answers its questions" in " ".join(capsys.readouterr().err.split())


def test_a_file_without_a_half_to_measure_is_refused(tmp_path, capsys):
    file = tmp_path / "mine.jsonl"
    halves = {}
    for k in range(20):
        file.write_text(json.dumps({"prompt": f"{k}+2=?", "chosen": "b", "rejected": "c"}))
        halves.setdefault(preference_rows(str(file))[0].half, file.read_text())
    file.write_text(halves["train"])
    assert main(["judge", "eval", "--bench", f"jsonl:{file}", "--judge", "head:tiny"]) == 2
    assert "has no line left to measure" in " ".join(capsys.readouterr().err.split())


def test_help(capsys):
    assert main(["judge", "eval", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--bench" in shown and "--judge-labels" in shown
