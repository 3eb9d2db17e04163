"""Streamed turns: the tokens of a whole turn, and pieces of text that join to its text."""

import pytest

import handaxe as hx
from handaxe.chat.stream_turn import STEP, StreamedEngine, settled_text
from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.tools.calculator import calculator


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_streamed_answer_equals_the_whole_answer(temperature):
    pieces = []
    streamed = hx.use("tiny", [calculator], temperature=temperature, seed=3, on_text=pieces.append)
    whole = hx.use("tiny", [calculator], temperature=temperature, seed=3)
    for question in ("12*34=?", "7+8=?", "hello"):
        pieces.clear()
        found, wanted = streamed(question), whole(question)
        assert found.messages == wanted.messages and found.ending == wanted.ending
        ids = [list(one.ids) for one in found.trajectory.sequences]
        assert ids == [list(one.ids) for one in wanted.trajectory.sequences]
        assert found.answer.endswith("".join(pieces)[-len(found.answer) :])


def test_text_arrives_in_pieces_before_the_turn_ends():
    policy = load("tiny")
    pieces = []
    stream = StreamedEngine(LocalEngine(policy.model), policy.format, pieces.append).stream()
    request = Sample([104, 105], Sampling(max_tokens=40), 0, frozenset())
    ticket = stream.submit(request)
    lengths = []
    while len(stream):
        done = stream.poll()
        lengths.append(len("".join(pieces)))
    ((found, completion),) = done
    whole = LocalEngine(policy.model).sample([request])[0]
    assert found == ticket and completion.ids == whole.ids and len(completion.ids) == 40
    assert len(pieces) > 2 and max(map(len, pieces)) <= 8 * STEP
    assert policy.format.parse(whole.ids, ()).text.startswith("".join(pieces))


def test_interrupted_request_returns_its_tokens():
    policy = load("tiny")
    stream = StreamedEngine(LocalEngine(policy.model), policy.format, lambda text: None).stream()
    ticket = stream.submit(Sample([104, 105], Sampling(max_tokens=40), 0, frozenset()))
    for _ in range(STEP + 2):
        stream.poll()
    assert len(stream.interrupt(ticket).ids) >= STEP and len(stream) == 0


def test_start_of_a_call_and_half_a_character_are_held_back():
    format = Compact()
    assert settled_text(format, list(b"one <tool"), ended=False) == "one"
    assert settled_text(format, list(b"one <tool"), ended=True) == "one <tool"
    assert settled_text(format, list("é".encode()[:1]), ended=False) == ""
    assert settled_text(format, list("é".encode()), ended=False) == "é"


def test_engine_without_streams_is_named():
    class Engine:
        max_length = 10

        def sample(self, requests):
            return []

    with pytest.raises(InputError, match="Engine has no streams: leave on_text out"):
        hx.use(Engine(), [calculator], format=Compact(), on_text=print)
