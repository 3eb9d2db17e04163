"""`handaxe start` with a user's own tool, for a few steps."""

import json
import os
import signal

import pytest
from helpers import processes

from handaxe.cli import main
from handaxe.models.load import load
from handaxe.training.loop.schedule import cosine
from handaxe.training.sft import cold_start

TOOL = """
from handaxe.core.records import Message, ToolCall
from handaxe.tools import tool

@tool
def double(number: int) -> str:
    "Double a whole number."
    return str(2 * number)

def nothing():
    return 3

def expert(task, facts):
    if facts["turn"]:
        return Message("assistant", facts["replies"][-1])
    number = int(task.messages[0].content.split()[1].rstrip("?"))
    return Message("assistant", "", (ToolCall("double", {"number": number}),))
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Folder of a user with a tool, an expert and questions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "start_tools.py").write_text(TOOL)
    lines = [json.dumps({"question": f"double {k}?", "answer": 2 * k}) for k in range(40)]
    (tmp_path / "doubles.jsonl").write_text("\n".join(lines))
    return tmp_path


SHORT = ["--skill", "2", "--steps", "1", "--held-out", "4", "--max-tokens", "8", "--quiet"]
WORLD = ["jsonl", "--world.file", "doubles.jsonl", "--world.score", "numeric_match", "--tools", "start_tools:double"]
EXPERT = ["--world.expert", "start_tools:expert"]


def test_cold_start_with_a_users_own_tool(mine, capsys):
    assert main(["start", *WORLD, *EXPERT, "--out", "begun", "--json", "found.json", *SHORT]) == 0
    shown = capsys.readouterr().out
    assert "before: 4 held-out tasks" in shown and "after: 4 held-out tasks" in shown
    assert "handaxe train METHOD --model begun --max-tokens 12 " in shown  # <CALL>double 39<CALL_END><END>
    assert load("begun").model.vocab_size == 264
    found = json.loads((mine / "found.json").read_text())
    assert set(found) == {"before", "after"} and "pass@1" in found["after"]


@pytest.mark.parametrize("number", [0, 2])  # in the first phase, in the last step of all
def test_ctrl_c_leaves_no_partial_checkpoint(mine, monkeypatch, capsys, number):
    """A policy stopped in a phase is not trained further and not written; the same command starts from scratch."""
    begun = []

    def schedule(*arguments, **options):
        rate = cosine(*arguments, **options)

        def of_step(step):
            begun.append(step)
            if len(begun) == number + 1:
                os.kill(os.getpid(), signal.SIGINT)
            return rate(step)

        return of_step

    monkeypatch.setattr(cold_start, "cosine", schedule)
    with processes.interruptible():
        assert main(["start", *WORLD, *EXPERT, "--out", "begun", *SHORT, "--held-out", "0"]) == 130
    assert len(begun) == number + 1 and "stopped" in capsys.readouterr().err
    assert not (mine / "begun").exists() and not list((mine / "cache").glob("starts/*"))
    assert main(["start", *WORLD, *EXPERT, "--out", "begun", *SHORT, "--held-out", "0"]) == 0
    assert len(begun) == number + 1 + 3 and load("begun").model.vocab_size == 264


def test_zero_held_out_tasks_give_no_evaluation(mine, capsys):
    assert main(["start", *WORLD, *EXPERT, "--out", "begun", *SHORT, "--held-out", "0"]) == 0
    assert "held-out" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "the world is missing; there are arithmetic, arithmetic_and_facts, "),
        (["arithmetik", "--out", "a"], "there is no world 'arithmetik'; did you mean arithmetic"),
        ([*WORLD, "--out", "a"], "world jsonl has no cold start: it needs an expert"),
        (["arithmetic", "--out", "a", "--call-rate", "1.5"], "--call-rate must be shares from 0 to 1"),
        (["arithmetic", "--out", "a", "--steps", "-1"], "--skill and --steps from 0"),
        (["arithmetic", "--out", "start_tools.py/a"], "start_tools.py is a file; name another one"),
        (["start_tools:nothing", "--out", "a"], "world start_tools:nothing returns int and not a World"),
    ],
)
def test_wrong_arguments_are_one_line(mine, capsys, words, message):
    assert main(["start", *words]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ") and message in shown and "Traceback" not in shown


def test_help_lists_the_options_of_the_world(mine, capsys):
    assert main(["start", "--help"]) == 0
    assert "worlds: arithmetic, arithmetic_and_facts, " in capsys.readouterr().out
    assert main(["start", "gym", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--world.names" in shown and "--spurious-rate" in shown
