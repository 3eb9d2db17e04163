"""Questions to a judge beside a rollout: read while a run writes, never from a pipe or a link out of the run."""

import os

import pytest

from handaxe.asking.ask import Ask, AskAnswer, Spent
from handaxe.asking.desk import AskRecord
from handaxe.asking.prompt import find_prompt
from handaxe.asking.store import AnswerStore
from handaxe.view.judged import judge_calls

STEP = find_prompt("step", terse=True)
EVIL = "<script>window.hacked=1</script>"


def write(path):
    """One question with hostile text, and one without an answer."""
    store = AnswerStore(path)
    ask = Ask(STEP, {"task": EVIL, "before": "", "did": "14", "then": ""})
    said = AskAnswer("", {"yes": -0.1, "no": -2.4}, Spent(12, 0, 0.5, 0.25), "tiny 0")
    store.put([("k", ask, said)])
    calls = [AskRecord("judge", STEP.name, "k", ("r", 1, EVIL), 0.9, said),
             AskRecord("judge", STEP.name, "f", ("r", 0, ""), None, AskAnswer(failure="budget"))]  # fmt: skip
    store.note(calls, step=2)
    return store


def test_questions_of_a_rollout(tmp_path):
    store = write(tmp_path / "judge.sqlite")  # open, as by a run
    first, second = judge_calls(tmp_path, "r")
    assert (first["turn"], first["criterion"], first["value"], first["labels"]) == (
        1,
        EVIL,
        0.9,
        {"yes": -0.1, "no": -2.4},
    )
    assert first["spent"] == {"read": 12, "written": 0, "seconds": 0.5, "cost": 0.25} and EVIL in first["question"]
    assert (second["value"], second["failure"], second["question"]) == (None, "budget", "")
    assert judge_calls(tmp_path, "other") == []
    store.close()


def test_what_is_no_store_counts_as_none(tmp_path):
    assert judge_calls(tmp_path, "r") == []
    (tmp_path / "judge.sqlite").write_text("damaged " * 1000)
    assert judge_calls(tmp_path, "r") == []
    (tmp_path / "judge.sqlite").unlink()
    os.mkfifo(tmp_path / "judge.sqlite")
    assert judge_calls(tmp_path, "r") == []


def test_a_link_out_of_the_run_is_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    write(tmp_path / "judge.sqlite").close()
    (tmp_path / "run" / "judge.sqlite").symlink_to(tmp_path / "judge.sqlite")
    assert judge_calls(tmp_path / "run", "r") == [] and len(judge_calls(tmp_path, "r")) == 2


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_neither_are_links_beside_it(tmp_path, end):
    (tmp_path / "run").mkdir()
    write(tmp_path / "run" / "judge.sqlite").close()
    (tmp_path / "else").write_text("x")
    (tmp_path / "run" / f"judge.sqlite{end}").symlink_to(tmp_path / "else")
    assert judge_calls(tmp_path / "run", "r") == []
