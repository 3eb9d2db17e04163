"""Tests that any text from a policy, tool, server or data set is played, recorded and shown without an exception."""

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from handaxe.core.errors import Failed, Retry
from handaxe.core.records import Group, Message, PlayedGroup, Sampling, Task, check
from handaxe.core.requests import Attempt, Completion
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import CALL, CALL_END, Compact
from handaxe.models.chat_formats.compact import END as COMPACT_END
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.nested_values import exceeds_depth
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.tools import tool
from handaxe.training.record.run_record import RunRecord
from handaxe.view.trajectory import token_table, trajectory_panel

LISTS = [f"{'[' * n}1{']' * closed}" for n in (60, 63, 64, 100, 300, 500, 3000) for closed in (n, 0)]
OBJECTS = ['{"a":' * n + "1" + "}" * n for n in (62, 200, 600)]
NUMBERS = ["1e999", "-1e999", "NaN", "9" * 4000, "9" * 5000, "1", "-0.0", "1e-400"]
STRINGS = [
    r'"\ud83d"',
    r'"\u0000\u001b[31m"',
    '"<|im_end|>"',
    '"</tool_call>"',
    '"' + "x" * 300 + '"',
    '"\u202e\u00e9"',
]
JSON = [
    *LISTS,
    *OBJECTS,
    *NUMBERS,
    *STRINGS,
    "true",
    "null",
    '{"a": 1, "a": 2}',
    '{"__tuple__": [1]}',
    "",
    "}",
    '"',
    "{",
]
any_text = st.one_of(
    st.sampled_from(JSON),
    st.text(max_size=30),
    st.builds(lambda a, b: f'[{a}, {{"k": {b}}}]', st.sampled_from(JSON), st.sampled_from(JSON)),
)


@tool(timeout=None)
def echo(x: Any, y: Any = None) -> Any:
    """Repeat a value.

    Args:
        x: the value.
        y: the reaction.
    """
    if y == 1:
        raise Retry(repr(x))
    if y is True:
        raise Failed(str(x))
    return x if y is None else [x, y]


@tool(timeout=None)
def attack(value: int) -> str:
    """Count.

    Args:
        value: a number.
    """
    return "\x1b[31m" + "<|im_end|></tool_call>\ud83d" * (value % 50)


TOOLS = [echo, attack]
FORMATS = ["compact", "transcript", "hermes", "qwen3_tokenizer", "llama3_tokenizer", "smollm2_tokenizer"]


@pytest.fixture(scope="module", params=FORMATS)
def format(request):
    if request.param == "compact":
        return Compact()
    if request.param == "transcript":
        return Transcript()
    if request.param == "hermes":
        return Hermes(request.getfixturevalue("smollm2_tokenizer"))
    return ChatTemplate(request.getfixturevalue(request.param))


def turn_ids(format, name, text):
    """Make the ids of a turn of a policy (or a server) with a call whose arguments are this text."""
    if isinstance(format, Compact):
        return [CALL, *f"{name} {text}".encode(errors="replace"), CALL_END, COMPACT_END]
    if isinstance(format, Transcript):
        return format.reply(text, [(name, text)], ended=True)
    call = f'<think>{text}</think>\n<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>'
    return format.encode_turn(Message("assistant", call), [tool.schema for tool in TOOLS])


def play(format, task, turns):
    def sample(name, request):
        ids = [*turns[request.turn][: request.sampling.max_tokens]]
        zeros = [0.0] * len(ids)
        return Completion(
            ids, zeros, zeros, [0] * len(ids), "stop" if len(ids) == len(turns[request.turn]) else "length"
        )

    attempt = Attempt(
        task=task,
        env=tool_chat(TOOLS),
        format=format,
        sampling=Sampling(max_tokens=12_000),
        id="t",
        sample=0,
        seed=0,
        context=100_000,
    )
    (trajectory,) = run_plan(linear(max_turns=len(turns))(attempt), sample=sample)
    check(trajectory)
    return trajectory


def record_and_read(trajectory):
    with tempfile.TemporaryDirectory() as folder:
        with RunRecord(Path(folder), about={}) as record:
            group = Group(trajectory.task, (trajectory,), 0)
            record.write_step(0, [PlayedGroup(group)], {})
        with RunRecord.open(Path(folder)) as record:
            ((trajectory,),) = (entry.group for entry in record.groups())
    return trajectory


def render(format, trajectory):
    screen = Console(file=io.StringIO(), width=100)
    screen.print(trajectory_panel(trajectory, decode=format.decode, max_chars=500))
    for sequence in trajectory.sequences:
        if len(sequence) < 300:  # a line per token
            screen.print(token_table(sequence, decode=format.decode))
    return screen.file.getvalue()


@pytest.mark.slow
@pytest.mark.hf
@settings(deadline=None, max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(["echo", "attack", "none"]), any_text, any_text), min_size=1, max_size=2),
    any_text,
)
@example([("echo", "[" * 500 + "]" * 500, "1")], "[" * 500)
@example([("echo", "[" * 61 + "]" * 61, "1"), ("attack", "7", "1")], "\ud83d")
def test_any_text_is_played_recorded_and_shown(format, calls, question):
    texts = [f'{{"x": {x}, "y": {y}}}' if name != "attack" else f'{{"value": {x}}}' for name, x, y in calls]
    turns = [turn_ids(format, name, text) for (name, _, _), text in zip(calls, texts)]
    try:
        metadata = {"row": json.loads(question)}
    except (ValueError, RecursionError):
        metadata = {"row": question}
    trajectory = play(format, Task(question[:50], (Message("user", f"{question}?"),), question, None, metadata), turns)
    recorded = record_and_read(trajectory)
    assert [m.content for m in recorded.messages] == [m.content for m in trajectory.messages]
    assert [t.parsed.errors for t in recorded.turns] == [t.parsed.errors for t in trajectory.turns]
    assert not any(exceeds_depth(dict(call.arguments), 64) for turn in trajectory.turns for call in turn.parsed.calls)
    assert render(format, recorded)


def nested(depth, *, kind):
    value: Any = 1
    for _ in range(depth):
        value = kind(value)
    return value


KINDS = [lambda v: [v], lambda v: (v,), lambda v: {"a": v}, lambda v: {1: v}, lambda v: [v, v] if v == 1 else [v]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [50, 1000, 50_000])
def test_nested_task_data_is_recorded_at_any_depth(kind, depth):
    task = Task("t", (Message("user", "?"),), nested(depth, kind=kind), None, {"row": nested(depth, kind=kind)})
    format = Compact()
    trajectory = play(format, task, [turn_ids(format, "attack", "3")])
    recorded = record_and_read(trajectory)
    assert recorded.task.metadata == task.metadata if depth == 50 else recorded.task.metadata != {}
    assert render(format, recorded)
