"""The store of answers: what people read of it, several processes, and files that are none."""

import sqlite3
import subprocess
import sys

import pytest

from handaxe.asking.ask import Ask, AskAnswer, Spent
from handaxe.asking.desk import AskRecord
from handaxe.asking.prompt import find_prompt
from handaxe.asking.store import AnswerStore
from handaxe.core.errors import InputError

STEP = find_prompt("step", terse=True)


def ask(text):
    return Ask(STEP, {"task": "t", "before": "", "did": text, "then": ""})


def test_calls_show_question_answer_and_value(tmp_path):
    store = AnswerStore(tmp_path / "a.sqlite")
    said = AskAnswer("", {"yes": -0.1, "no": -2.5}, Spent(12, 0, 0.5, 0.0), "tiny 0")
    store.put([("k", ask("14"), said), ("f", ask("15"), AskAnswer(failure="unavailable"))])
    first = AskRecord("judge", STEP.name, "k", ("rollout", 1, "c"), 0.9, said)
    failed = AskRecord("judge", STEP.name, "f", ("rollout", 2, ""), None, AskAnswer(failure="unavailable"))
    store.note([first, failed], step=3)
    one, two = store.calls(trajectory="rollout")
    assert (one.step, one.about, one.value, one.failure, one.cached) == (3, ("rollout", 1, "c"), 0.9, "", False)
    assert 'did: "14"' in one.question and one.answer == said
    assert (two.value, two.failure, two.question) == (None, "unavailable", "") and len(store) == 1
    assert store.calls(trajectory="other") == [] and store.calls(step=2) == []


def test_a_resumed_step_replaces_the_calls_of_the_lost_one(tmp_path):
    store = AnswerStore(tmp_path / "a.sqlite")
    for step, text in ((1, "a"), (2, "b"), (3, "c"), (2, "d")):
        store.note([AskRecord("judge", STEP.name, text, (text, 0, ""), 1.0, AskAnswer())], step=step)
    assert [one.about[0] for one in store.calls()] == ["a", "d"]


def test_answers_of_a_changing_model_are_kept_and_not_read(tmp_path):
    store = AnswerStore(tmp_path / "a.sqlite", reads=False)
    store.put([("k", ask("14"), AskAnswer("x"))])
    assert store.get(["k"]) == {} and len(store) == 1


WRITER = """
import sys
from pathlib import Path

from handaxe.asking.ask import AskAnswer, Ask
from handaxe.asking.prompt import find_prompt
from handaxe.asking.store import AnswerStore

path, text = Path(sys.argv[1]), sys.argv[2]
store = AnswerStore(path)
asked = Ask(find_prompt("step", terse=True), {"task": "t", "before": "", "did": text, "then": ""})
for number in range(40):
    store.put([(f"{number}", asked, AskAnswer(text))])
"""


def test_a_key_keeps_its_first_answer_with_two_writers(tmp_path):
    path = tmp_path / "a.sqlite"
    both = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), text]) for text in "ab"]
    assert [one.wait(60) for one in both] == [0, 0]
    store = AnswerStore(path)
    found = store.get([f"{number}" for number in range(40)])
    assert len(found) == 40 and {one.text for one in found.values()} <= {"a", "b"}
    write_again = [(f"{number}", ask("c"), AskAnswer("c")) for number in range(40)]
    store.put(write_again)
    assert store.get(list(found)) == found


OPENER = """
import sys
from pathlib import Path

from handaxe.asking.store import AnswerStore

print("ready", flush=True)
for folder in sys.stdin:
    AnswerStore(Path(folder.strip()) / "a.sqlite").close()
    print("open", flush=True)
"""


def test_many_processes_open_a_new_store_at_the_same_moment(tmp_path):
    command = [sys.executable, "-c", OPENER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    openers = [subprocess.Popen(command, **pipes) for _ in range(4)]
    assert [one.stdout.readline() for one in openers] == ["ready\n"] * 4
    for number in range(100):
        (tmp_path / str(number)).mkdir()
        for one in openers:
            one.stdin.write(f"{tmp_path / str(number)}\n")
        for one in openers:
            one.stdin.flush()
        assert [one.stdout.readline() for one in openers] == ["open\n"] * 4
    for one in openers:
        one.communicate()


def test_a_file_that_is_no_store_is_one_sentence(tmp_path):
    (tmp_path / "a.sqlite").write_text("no database at all, but a text that is long enough to be read as a page" * 20)
    with pytest.raises(InputError, match=r"the store of answers .* cannot be opened"):
        AnswerStore(tmp_path / "a.sqlite")
    with pytest.raises(InputError, match="cannot be opened"):
        AnswerStore(tmp_path / "none" / "a.sqlite")
    with sqlite3.connect(tmp_path / "b.sqlite") as table:
        table.execute("CREATE TABLE answers (x)")
    with pytest.raises(InputError, match="cannot be opened"):
        AnswerStore(tmp_path / "b.sqlite")
