"""Rollouts over tokenizers and chat templates of model families."""

import json

import pytest
from helpers.model_families import FAMILIES, Unavailable

from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, Completion, EnvReply
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.saved_format import read_format, save_format
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rollouts.driver.driver import run
from handaxe.rollouts.linear import linear
from handaxe.testing.formats import check_format
from handaxe.tools import tool

pytestmark = pytest.mark.hf
USER = Message("user", "How many flakes are there?")
THOUGHT = "<think>\ncount them\n</think>\n\n"
NESTED = {"sites": ["Olduvai", "\u5468\u53e3\u5e97"], "strata": {"top": 3, "deep": [1.5, None, True, 'a "hand" axe\n']}}
SEQUENCES = {
    # (sequences of three calls and an answer, sequences with thoughts and a further question)
    "qwen2_5": (1, 1),
    "qwen3": (1, 2),
    "gptoss": (1, 2),
    "llama3_1": (1, 1),
    "llama4": (1, 1),
    "gemma3": (1, 1),
    "deepseek_v3": (3, 2),
    "deepseek_r1": (4, 2),
    "glm4_5": (1, 2),
    "kimi_k2": (1, 1),
    "mistral": (1, 2),
}


@tool
def count(filter: dict, note: str = "") -> str:
    """Count flakes and return the filter as JSON.

    Args:
        filter: sites and strata.
        note: any text.
    """
    return json.dumps(filter, ensure_ascii=False)


LARGE = ("gemma3", "llama4", "kimi_k2", "gptoss", "deepseek_v3")
"""Families whose tokenizers take longest to read."""


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in FAMILIES]
)
def name(request):
    pytest.importorskip("transformers")
    try:
        FAMILIES[request.param].make()
    except Unavailable as error:
        pytest.skip(str(error))
    return request.param


@pytest.fixture(scope="module")
def tokenizer(name):
    return FAMILIES[name].make()


@pytest.fixture(scope="module")
def format(tokenizer):
    return ChatTemplate(tokenizer)


class IdEngine:
    """An engine whose turns are given ids."""

    version, max_length, pad_id = 0, 1 << 20, 0

    def __init__(self, turns):
        self.turns = list(turns)

    def sample(self, requests):
        (request,) = requests
        ids = self.turns.pop(0)
        assert len(ids) <= request.sampling.max_tokens
        return [Completion(list(ids), [0.0] * len(ids), [0.0] * len(ids), [0] * len(ids), "stop")]


class RandomEngine:
    """A random model over the vocabulary; each turn is ended by a stop id."""

    version, max_length, pad_id = 0, 4096, 0

    def __init__(self, format, vocab_size):
        config = TinyConfig(vocab_size=vocab_size, width=8, layers=1, heads=1, max_length=4096)
        self.engine, self.stop = LocalEngine(TinyModel.new(config, seed=0)), min(format.stop_ids)

    def sample(self, requests):
        sampled = self.engine.sample(requests)
        return [one._replace(ids=[*one.ids[:-1], self.stop], finish="stop") for one in sampled]


class Questions:
    """An environment that asks another question after each turn."""

    def __init__(self, task):
        self.task, self.steps = task, 0

    def start(self):
        return self.task.messages, (count.schema,)

    def step(self, turn, *, seed):
        self.steps += 1
        return EnvReply((Message("user", f"And layer {self.steps}?"),))

    def report(self):
        return {}

    def close(self):
        pass


def play(format, engine, env, *, turns=4, max_tokens=4096, id="t/0"):
    attempt = Attempt(Task("t", (USER,)), env, format, Sampling(max_tokens=max_tokens), id, 0, 5, 10**6)
    (((trajectory,),),) = [run([attempt], linear(max_turns=turns), engine)]
    assert trajectory.ending.kind == "completed" or trajectory.ending.reason == "turns", trajectory.ending
    return trajectory


def check_rendering(format, trajectory, reply):
    """Every sequence is the rendering of the messages before its last turn, and that turn's sampled ids.

    reply: function of (number, turn) that returns the messages after a turn.
    """
    messages = [USER]
    last = {turn.sequence: number for number, turn in enumerate(trajectory.turns)}
    for number, turn in enumerate(trajectory.turns):
        sequence = trajectory.sequences[turn.sequence]
        if last[turn.sequence] == number:
            sampled = list(sequence.ids[turn.start : turn.stop])
            opening = format.start(messages, trajectory.tools).ids
            assert list(sequence.ids) == [*opening, *sampled], format.decode(sequence.ids)
        messages += [Message("assistant", turn.parsed.text, turn.parsed.calls), *reply(number, turn)]


def tool_messages(number, turn):
    return [Message("tool", one.content, call_id=one.call_id, name=one.name) for one in turn.replies]


def test_format_meets_the_contract(format, tokenizer):
    check_format(format, vocab_size=len(tokenizer), examples=20)


def test_rollout_with_tool_calls_equals_its_rendering_id_for_id(name, format):
    calls = [ToolCall("count", {"filter": NESTED, "note": f"layer {k}, \u77f3"}, "c0") for k in range(3)]
    turns = [format.encode_turn(Message("assistant", "", (call,)), [count.schema]) for call in calls]
    turns.append(format.encode_turn(Message("assistant", "Three."), [count.schema]))
    trajectory = play(format, IdEngine(turns), tool_chat([count]))
    parsed = [(call.name, dict(call.arguments)) for call in trajectory.calls]
    assert parsed == [(call.name, dict(call.arguments)) for call in calls]
    assert [json.loads(reply.content) for reply in trajectory.replies] == [NESTED] * 3
    assert len(trajectory.sequences) == SEQUENCES[name][0]
    check_rendering(format, trajectory, tool_messages)


def test_parallel_calls_of_a_rollout_run_in_order(format):
    calls = tuple(ToolCall("count", {"filter": {"layer": k}}, f"c{k}") for k in range(3))
    turn = Message("assistant", "", calls)
    if not format.parallel_calls:
        with pytest.raises(Exception, match="one call per turn"):
            format.encode_turn(turn, [count.schema])
        return
    turns = [format.encode_turn(one, [count.schema]) for one in (turn, Message("assistant", "Three."))]
    trajectory = play(format, IdEngine(turns), tool_chat([count]))
    assert [json.loads(reply.content) for reply in trajectory.replies] == [{"layer": k} for k in range(3)]
    check_rendering(format, trajectory, tool_messages)


def test_thoughts_before_a_question_are_kept_or_start_a_new_sequence(name, format):
    turns = [format.encode_turn(Message("assistant", f"{THOUGHT}Layer {k}."), [count.schema]) for k in range(2)]
    trajectory = play(format, IdEngine(turns), Questions, turns=2)
    assert [turn.parsed.text for turn in trajectory.turns] == [f"{THOUGHT}Layer {k}." for k in range(2)]
    assert len(trajectory.sequences) == SEQUENCES[name][1]
    check_rendering(format, trajectory, lambda number, turn: [Message("user", f"And layer {number + 1}?")])


def test_cut_call_gets_an_error_message_and_the_rollout_goes_on(format):
    whole = format.encode_turn(Message("assistant", "", (ToolCall("count", {"filter": NESTED}, "c0"),)), [count.schema])
    cut = [*whole[: len(whole) * 2 // 3], whole[-1]]
    answer = format.encode_turn(Message("assistant", "Three."), [count.schema])
    trajectory = play(format, IdEngine([cut, answer]), tool_chat([count]))
    assert not trajectory.calls and len(trajectory.turns[0].parsed.errors) == 1
    first, last = trajectory.turns
    shown = format.decode(trajectory.sequences[last.sequence].ids)
    assert "malformed call: " in shown and last.parsed.text == "Three."
    ids = trajectory.sequences[first.sequence].ids
    assert list(ids[first.start : first.stop]) == cut


def test_random_turns_are_kept_and_every_sequence_grows_by_rendered_ids(format, tokenizer):
    """A random model over the vocabulary; each turn is extended again from the recorded messages."""
    trajectory = play(format, RandomEngine(format, len(tokenizer)), Questions, turns=3, max_tokens=8)
    messages, tools = [USER], trajectory.tools
    ids, number = list(format.start(messages, tools).ids), 0
    for k, turn in enumerate(trajectory.turns):
        sequence = trajectory.sequences[turn.sequence]
        assert turn.sequence == number and list(sequence.ids[: turn.start]) == ids
        sampled = list(sequence.ids[turn.start : turn.stop])
        messages.append(Message("assistant", turn.parsed.text, turn.parsed.calls))
        question = Message("user", f"And layer {k + 1}?")
        part = format.extend(messages, [question], sampled, tools)
        messages.append(question)
        number += part.fresh
        ids = list(part.ids) if part.fresh else [*ids, *sampled, *part.ids]
        if part.fresh:
            assert ids == list(format.start(messages, tools).ids)
    assert len(trajectory.turns) == 3


def test_saved_format_has_the_ids_of_the_original(format, tmp_path):
    save_format(tmp_path, format)
    loaded = read_format(tmp_path)
    turn = Message("assistant", "", (ToolCall("count", {"filter": NESTED}, "c0"),))
    assert loaded.encode_turn(turn, [count.schema]) == format.encode_turn(turn, [count.schema])
    assert loaded.start([USER], [count.schema]) == format.start([USER], [count.schema])
    assert loaded.stop_ids == format.stop_ids and loaded.header_ids == format.header_ids
