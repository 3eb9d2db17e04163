"""`handaxe synthesize` and `handaxe synthesize show`."""

import json
import re
import subprocess
import sys

import pytest

from handaxe.cli import main
from handaxe.worlds.jsonl import jsonl

SERVE = [sys.executable, "-c", "import sys; from handaxe.cli import main; sys.exit(main())", "serve"]


@pytest.mark.slow
def test_a_thousand_tasks_and_their_funnel(tmp_path, capsys):
    out = tmp_path / "made"
    assert main(["synthesize", "questions", "--count", "1000", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "1000 in " in shown.out and "repeated" in shown.out and "decontaminate" in shown.out
    assert "0 known from" in shown.out and "--tools calculator" in shown.out and "task 1000/1000" in shown.err
    world = jsonl(file=str(out / "tasks.jsonl"))
    read = [*world.tasks("train", 2000, 0), *world.tasks("test", 2000, 0)]
    assert len({one.messages[0].content for one in read}) == 1000
    card = json.loads((out / "card.json").read_text())
    steps = {one["name"]: one for one in card["steps"]}
    for step in steps.values():
        assert step["in"] - step["out"] == sum(step["reasons"].values())
    assert steps["decontaminate"]["settings"]["tests"] == 1000
    assert main(["synthesize", "show", str(out), "--most", "2"]) == 0
    assert len(re.findall("^task ", capsys.readouterr().out, re.MULTILINE)) == 2


def test_tasks_of_a_file_are_test_tasks_too(tmp_path, capsys):
    rows = [{"question": f"Compute {n}*9.", "answer": str(9 * n)} for n in range(1, 10)]
    (tmp_path / "tests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--count", "100", "--against", str(tmp_path / "tests.jsonl"), "--out", str(tmp_path / "made"), "--quiet"]
    assert main(["synthesize", "questions", *words]) == 0
    assert "a test task" in capsys.readouterr().out
    made = (tmp_path / "made" / "tasks.jsonl").read_text()
    assert not any(json.dumps(row["question"]) in made for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the pipeline is missing; there are asearcher_tasks, astra_environments"),
        (["question", "--out", "x"], "did you mean questions or solutions?"),
        (["questions", "--out", "x", "--count", "0"], "give --count, --rounds, --tests and --workers from 1"),
        (["questions", "--out", "x", "--proposer", "self"], "--proposer self needs a run in training"),
        (["questions", "--out", "x", "--proposer", "http://127.0.0.1:1/v1"], "--proposer 'http://127.0.0.1:1/v1'"),
        (["questions", "--out", "x", "--world", "nowhere"], "there is no world 'nowhere'"),
        (["show", "nowhere"], "nowhere has no card.json of a finished synthesis"),
    ],
)
def test_wrong_input_is_one_sentence(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["synthesize", *words]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "x").exists()


@pytest.mark.slow
@pytest.mark.hf
def test_smollm2_behind_a_server_proposes(tmp_path, capsys):
    """The model has no training for it: what it proposes is executed, and the funnel accounts for every seed."""
    process = subprocess.Popen([*SERVE, "--model", "smollm2", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        found = (re.fullmatch(r"serving smollm2 at (http://127\.0\.0\.1:\d+/v1)\n", line) for line in process.stderr)
        url = next(one[1] for one in found if one)
        words = ["--proposer", f"{url}#smollm2", "--rounds", "1", "--batch", "3", "--max-tokens", "64"]
        assert main(["synthesize", "questions", *words, "--out", str(tmp_path), "--quiet"]) == 0
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()
    card = json.loads((tmp_path / "card.json").read_text())
    proposed = card["steps"][0]
    assert proposed["in"] == 3 and proposed["in"] - proposed["out"] == sum(proposed["reasons"].values())
    assert card["cost"]["proposer"]["asks"] >= 3 and card["cost"]["proposer"]["read"] > 0
    first = (tmp_path / "provenance.jsonl").read_bytes()
    assert main(["synthesize", "show", str(tmp_path)]) == 0
    assert "proposer" in capsys.readouterr().out and first == (tmp_path / "provenance.jsonl").read_bytes()
