"""Debugger and backtracer on a failing call."""

from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.papers.tool_star.inference_rollout import inference_rollout
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = arithmetic(easy=0.0)
TASK = Task("t", (Message("user", "12*34=?"),), "408", None,
            {"gold_calls": [{"name": "calculator", "arguments": {"expression": "12*34"}}]})  # fmt: skip


def play(**tools):
    rollout = inference_rollout(WORLD, max_turns=2, desk=None, **tools)
    said = [Message("assistant", "", (ToolCall("calculator", {"expression": "12*"}),)), Message("assistant", "408")]
    speak = lambda task, facts: said[facts["turn"]]  # noqa: E731
    return demonstrate(WORLD.env(WORLD.tools), TASK, speak, format=Transcript(), rollout=rollout)


def test_the_debugger_acts_first_and_the_backtracer_where_it_cannot():
    one = play()
    assert (one.replies[0].content, one.env["debugged"], one.notes.get("redrawn")) == ("408", 1, None)
    one = play(debugger=False)
    assert one.replies[0].status == "retry" and one.notes["redrawn"][0]["tries"] == 2
    one = play(debugger=False, backtracer=False)
    assert one.replies[0].status == "retry" and "redrawn" not in one.notes and "debugged" not in one.env


def test_wrong_input():
    with pytest.raises(InputError, match="retries is -1"):
        inference_rollout(WORLD, max_turns=2, desk=None, retries=-1)
    bare = replace(WORLD, reference=None)
    with pytest.raises(InputError, match="has no 'reference'"):
        inference_rollout(bare, max_turns=2, desk=None)
    assert inference_rollout(bare, max_turns=2, desk=None, debugger=False)
