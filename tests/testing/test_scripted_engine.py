import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling, ToolCall, ToolSchema
from handaxe.core.requests import Partial, Sample
from handaxe.models.chat_formats.compact import CALL, CALL_END, END, Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.effective_rank.effective_rank_of import effective_rank
from handaxe.testing.engine_case import example_batch
from handaxe.testing.scripted_engine import ScriptedEngine, encode_reply

ECHO = ToolSchema("echo", "", {"type": "object", "properties": {"text": {"type": "string"}}})
CALL_X = ToolCall("echo", {"text": "x"})


def request(turn=0, max_tokens=64, ids=(1,)):
    return Sample(list(ids), Sampling(max_tokens=max_tokens), 0, frozenset({END}), turn=turn)


def test_encode_reply_encodes_text_calls_and_both():
    assert encode_reply(Compact(), "ok") == [*b"ok", END]
    assert encode_reply(Compact(), CALL_X, [ECHO]) == [CALL, *b"echo x", CALL_END, END]
    assert encode_reply(Compact(), ("so", CALL_X), [ECHO]) == [*b"so", CALL, *b"echo x", CALL_END, END]


def test_script_is_a_list_by_turn_or_a_function_of_the_text():
    engine = ScriptedEngine(Compact(), ["a", "b"])
    assert [c.ids for c in engine.sample([request(1), request(0)])] == [[*b"b", END], [*b"a", END]]
    engine = ScriptedEngine(Compact(), lambda text, turn: f"{text}{turn}")
    assert engine.sample([request(3, ids=b"hm")])[0].ids == [*b"hm3", END]
    with pytest.raises(InputError, match="has 2 turns, but turn 2"):
        ScriptedEngine(Compact(), ["a", "b"]).sample([request(2)])


def test_max_tokens_cuts_a_reply():
    (cut,) = ScriptedEngine(Compact(), ["abc"]).sample([request(max_tokens=2)])
    assert cut.ids == [*b"ab"] and cut.finish == "length" and cut.logp == [0.0, 0.0]


def test_partial_turn_gets_the_rest():
    begun = Partial([*b"ab"], [-1.0] * 2, [-1.0] * 2, [7] * 2)
    (whole,) = ScriptedEngine(Compact(), ["abc"]).sample([request()._replace(prefix=begun)])
    assert whole.ids == [*b"abc", END] and whole.finish == "stop"
    assert whole.logp == [-1.0, -1.0, 0.0, 0.0] and whole.version == [7, 7, 0, 0]


def test_training_methods_raise():
    engine = ScriptedEngine(Compact(), ["a"])
    for verb in (lambda: engine.forward_backward(None, None), lambda: engine.optim_step(learning_rate=1.0)):
        with pytest.raises(InputError, match="no weights to train"):
            verb()


def test_hidden_measure_raises():
    engine, batch = ScriptedEngine(Compact(), ["a"]), example_batch(TinyModel.new(TinyConfig(vocab_size=20), seed=0))
    assert not engine.forward(batch)["logp"].any()
    with pytest.raises(InputError, match="cannot measure effective_rank"):
        engine.forward(batch, names=("logp", effective_rank()))
