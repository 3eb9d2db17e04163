"""No bytes that a policy, a tool, a server or a data set can write end a run: they are played, recorded and shown."""

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from handaxe.core.errors import Failed, Retry
from handaxe.core.records import Group, Message, Sampling, Task, check
from handaxe.core.requests import Attempt, Completion
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.compact import CALL, CALL_END, Compact
from handaxe.models.compact import END as COMPACT_END
from handaxe.models.hermes import Hermes
from handaxe.models.transcript import Transcript
from handaxe.ops.nesting import deeper
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.tools import tool
from handaxe.training.record.groups import GroupRecord
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
said = st.one_of(
    st.sampled_from(JSON),
    st.text(max_size=30),
    st.builds(lambda a, b: f'[{a}, {{"k": {b}}}]', st.sampled_from(JSON), st.sampled_from(JSON)),
)


@tool(timeout=None)
def echo(x: Any, y: Any = None) -> Any:
    """Say it back.

    Args:
        x: what.
        y: how.
    """
    if y == 1:
        raise Retry(repr(x))
    if y is True:
        raise Failed(str(x))
    return x if y is None else [x, y]


@tool(timeout=None)
def one(value: int) -> str:
    """Count.

    Args:
        value: a number.
    """
    return "\x1b[31m" + "<|im_end|></tool_call>\ud83d" * (value % 50)


TOOLS = [echo, one]
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


def turn(format, name, text):
    """The ids of a turn in which a policy (or a server) calls a tool with this text as its arguments."""
    if isinstance(format, Compact):
        return [CALL, *f"{name} {text}".encode(errors="replace"), CALL_END, COMPACT_END]
    if isinstance(format, Transcript):
        return format.reply(text, [(name, text)], ended=True)
    call = f'<think>{text}</think>\n<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>'
    return format.encode_turn(Message("assistant", call), [one.schema for one in TOOLS])


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
    (found,) = run_plan(linear(max_turns=len(turns))(attempt), sample=sample)
    check(found)
    return found


def kept(trajectory):
    nobody = np.zeros(1, bool)
    with tempfile.TemporaryDirectory() as folder:
        with RunRecord(Path(folder), about={}) as record:
            group = Group(trajectory.task, (trajectory,), 0)
            record.write_step(0, [GroupRecord(group, nobody, nobody, fate="unscored")], {})
        with RunRecord.open(Path(folder)) as record:
            ((back,),) = (one.group for one in record.groups())
    return back


def shown(format, trajectory):
    screen = Console(file=io.StringIO(), width=100)
    screen.print(trajectory_panel(trajectory, decode=format.decode, room=500))
    for sequence in trajectory.sequences:
        if len(sequence) < 300:  # a line for each
            screen.print(token_table(sequence, decode=format.decode))
    return screen.file.getvalue()


@pytest.mark.hf
@settings(deadline=None, max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["echo", "one", "none"]), said, said), min_size=1, max_size=2), said)
@example([("echo", "[" * 500 + "]" * 500, "1")], "[" * 500)
@example([("echo", "[" * 61 + "]" * 61, "1"), ("one", "7", "1")], "\ud83d")
def test_it_is_played_recorded_and_shown(format, calls, question):
    texts = [f'{{"x": {x}, "y": {y}}}' if name != "one" else f'{{"value": {x}}}' for name, x, y in calls]
    turns = [turn(format, name, text) for (name, _, _), text in zip(calls, texts)]
    try:
        metadata = {"row": json.loads(question)}
    except (ValueError, RecursionError):
        metadata = {"row": question}
    trajectory = play(format, Task(question[:50], (Message("user", f"{question}?"),), question, None, metadata), turns)
    back = kept(trajectory)
    assert [m.content for m in back.messages] == [m.content for m in trajectory.messages]
    assert [t.parsed.errors for t in back.turns] == [t.parsed.errors for t in trajectory.turns]
    assert not any(deeper(dict(call.arguments), 64) for one in trajectory.turns for call in one.parsed.calls)
    assert shown(format, back)


def nested(depth, *, kind):
    value: Any = 1
    for _ in range(depth):
        value = kind(value)
    return value


KINDS = [lambda v: [v], lambda v: (v,), lambda v: {"a": v}, lambda v: {1: v}, lambda v: [v, v] if v == 1 else [v]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [50, 1000, 50_000])
def test_what_a_data_set_nests_is_recorded_at_any_depth(kind, depth):
    task = Task("t", (Message("user", "?"),), nested(depth, kind=kind), None, {"row": nested(depth, kind=kind)})
    format = Compact()
    trajectory = play(format, task, [turn(format, "one", "3")])
    back = kept(trajectory)
    assert back.task.metadata == task.metadata if depth == 50 else back.task.metadata != {}
    assert shown(format, back)
