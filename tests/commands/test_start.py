"""`handaxe start` with a user's own tool, for a few steps."""

import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
from helpers import processes

from handaxe.cli import main
from handaxe.commands import start
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


TRAIN = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "4", "--quiet"]
SHORT = ["--skill", "2", "--steps", "1", "--held-out", "4", "--max-tokens", "8", "--quiet"]
WORLD = ["jsonl", "--world.file", "doubles.jsonl", "--world.score", "numeric_match", "--tools", "start_tools:double"]
EXPERT = ["--world.expert", "start_tools:expert"]


def test_cold_start_with_a_users_own_tool(mine, capsys):
    words = ["--context", "640", "--json", "found.json"]
    assert main(["start", *WORLD, *EXPERT, "--out", "begun", *words, *SHORT]) == 0
    assert load("begun").model.max_length == 640
    shown = capsys.readouterr().out
    assert "before: 4 held-out tasks" in shown and "after: 4 held-out tasks" in shown
    (hint,) = re.findall(r"^train +handaxe (.*)$", shown, re.MULTILINE)
    assert hint.endswith("--tools start_tools:double --model begun --max-tokens 12")  # <CALL>double 39<CALL_END><END>
    assert main([*shlex.split(hint), *TRAIN, "--out", "run"]) == 0
    recipe = json.loads((mine / "run" / "recipe.json").read_text())["recipe"]["arguments"]
    assert (recipe["world"], recipe["world.file"], recipe["model"]) == ("jsonl", "doubles.jsonl", "begun")
    assert load("begun").model.vocab_size == 264
    found = json.loads((mine / "found.json").read_text())
    assert set(found) == {"before", "after"} and "pass@1" in found["after"]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_start_with_nothing_left_to_learn_prints_a_command_that_leaves_something(mine, capsys, monkeypatch):
    monkeypatch.setattr(start, "FULL", 0.0)
    assert main(["start", *WORLD, *EXPERT, "--out", "be gun", *SHORT[:2], *SHORT[4:]]) == 0
    shown = capsys.readouterr().out
    assert "nothing is left to learn" in shown
    (hint,) = re.findall(r"^instead +handaxe (.*)$", shown, re.MULTILINE)
    monkeypatch.setattr(start, "FULL", 2.0)
    words = shlex.split(hint)
    assert words[-6:] == ["--call-rate", "0.5", "--steps", "100", "--out", "be gun-noisy"]
    words[words.index("100")] = "1"
    assert main(words) == 0 and "nothing is left to learn" not in capsys.readouterr().out


def test_noise_without_noisy_steps_is_refused_with_a_command_that_trains_with_it(mine, capsys):
    assert main(["start", *WORLD, *EXPERT, "--out", "begun", "--call-rate", "0.4", "--held-out", "0", "--quiet"]) == 2
    shown = capsys.readouterr().err
    assert "error: --call-rate: no noisy demonstrations with --steps 0; `handaxe start jsonl" in shown
    words = shlex.split(shown.split("`")[1])[1:]
    assert words[-2:] == ["--steps", "100"] and not (mine / "begun").exists()
    assert main([*words[:-1], "1", "--skill", "1"]) == 0 and (mine / "begun").exists()


def test_a_world_without_named_tools_is_reported(mine, capsys):
    words = [*WORLD[: WORLD.index("--tools")], *EXPERT, "--out", "begun", *SHORT, "--held-out", "0"]
    main(["start", *words])
    assert "warning: world jsonl has no tools, and none are named" in capsys.readouterr().err
    main(["start", *words, "--tools", "none", "--out", "other"])
    assert "no tools" not in capsys.readouterr().err


def test_zero_held_out_tasks_give_no_evaluation(mine, capsys):
    assert main(["start", *WORLD, *EXPERT, "--out", "begun", *SHORT, "--held-out", "0"]) == 0
    assert "held-out" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "the world is missing; there are arena, arithmetic, arithmetic_and_charts, "),
        (["arithmetik", "--out", "a"], "there is no world 'arithmetik'; did you mean arithmetic"),
        ([*WORLD, "--out", "a"], "world jsonl has no cold start: it needs an expert"),
        (["library", "--out", "a"], "world library has no cold start: it has no expert to imitate"),
        (["arithmetic", "--out", "a", "--call-rate", "1.5"], "--call-rate must be shares from 0 to 1"),
        (["arithmetic", "--out", "a", "--steps", "-1"], "--skill and --steps from 0"),
        (["arithmetic", "--out", "a", "--context", "99"], "--context 99 is below the 512 tokens of the tiny policy"),
        (["arithmetic", "--out", "a", "--device", "gpu"], "device 'gpu' is unknown; give cpu, cuda or cuda:1"),
        (["arithmetic", "--out", "/proc/a"], "--out /proc/a cannot be written: /proc takes no files"),
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
    assert "worlds: arena, arithmetic, arithmetic_and_charts, " in capsys.readouterr().out
    assert main(["start", "gym", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--world.names" in shown and "--spurious-rate" in shown


def test_faults_of_the_expert_are_reported(mine, capsys):
    (mine / "start_tools.py").write_text(TOOL.replace('ToolCall("double"', 'ToolCall("dubble"'))
    sys.modules.pop("start_tools", None)
    assert main(["start", *WORLD, *EXPERT, "--out", "begun", *SHORT]) == 0
    shown = capsys.readouterr().err
    assert "demonstrations a call of the expert has no result; the first, of task" in shown
    assert "there is no tool 'dubble'; the tools are: double" in shown
    assert "the expert is wrong in" in shown


@pytest.mark.parametrize(
    ("longest", "words", "limits"),
    [((86, 6), {}, (86, 6)), ((12, 2), {}, (64, 4)), ((86, 6), {"max_tokens": 8, "max_turns": 1}, (8, 1))],
)
def test_evaluations_have_room_for_the_turns_of_the_expert(longest, words, limits):
    assert start._Longest(*longest).within(start.StartOptions(Path("begun"), **words)) == limits
