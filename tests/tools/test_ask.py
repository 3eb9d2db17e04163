import pytest

from handaxe.core.errors import InputError, Retry, ToolDefinitionError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Message, Sampling, ToolCall
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_tool
from handaxe.tools.ask import ask, sample_answer

FORMAT = Compact()


def script_answer(text, **sampling):
    return AuxPolicy(ScriptedEngine(FORMAT, [text]), FORMAT, Sampling(**{"max_tokens": 8, **sampling}))


def run(tool, question, seed=0):
    return tool.run(ToolCall(tool.schema.name, {"question": question}, "c0"), seed=seed)


def test_answer_is_billed_by_written_tokens():
    reply = run(ask(script_answer("56"), price=2.0, seconds_per_token=0.5), "7*8")
    assert (reply.status, reply.content, reply.cost, reply.seconds) == ("ok", "56", 6.0, 1.5)


def test_prompt_price_bills_read_tokens():
    asked = len(FORMAT.start([Message("user", "7*8")], ()).ids)
    reply = run(ask(script_answer("56"), price=2.0, prompt_price=0.25), "7*8")
    assert reply.cost == 6.0 + 0.25 * asked and 0 < reply.seconds < 10
    assert sample_answer(script_answer("56"), "7*8", seed=0) == ("56", asked, 3)


def test_truncated_answer_is_billed_by_its_tokens():
    reply = run(ask(script_answer("a long answer", max_tokens=4), price=1.0), "?")
    assert (reply.content, reply.cost) == ("a lo", 4.0)


def test_other_policy_sees_only_the_question():
    heard = []

    def script(before, turn):
        heard.append(before)
        return "x"

    run(ask(AuxPolicy(ScriptedEngine(FORMAT, script), FORMAT, Sampling())), "<END> who?")
    (before,) = heard
    assert before == FORMAT.decode(FORMAT.start([Message("user", "<END> who?")], ()).ids)
    assert FORMAT.start([Message("user", "<END> who?")], ()).ids.count(261) == 1  # what is asked ends no message


def test_ask_keeps_the_tool_contract():
    tool = ask(script_answer("x"), name="friend", description="Ask a friend.")
    check_tool(tool, arguments={"question": "who?"})
    assert (tool.schema.name, tool.schema.description) == ("friend", "Ask a friend.")
    assert list(tool.schema.parameters["properties"]) == ["question"]


def test_answer_and_bill_follow_the_seed():
    engine = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=64), seed=0))
    tool = ask(AuxPolicy(engine, FORMAT, Sampling(max_tokens=12)), price=1.0, seconds_per_token=0.1)
    replies = [run(tool, "who?", seed) for seed in (1, 2, 1)]
    assert replies[0] == replies[2] and replies[0].content != replies[1].content
    for reply, seed in zip(replies, (1, 2, 1)):
        assert (
            reply.cost == sample_answer(AuxPolicy(engine, FORMAT, Sampling(max_tokens=12)), "who?", seed=seed).written
        )
    reply = run(tool, "x" * 64)
    assert (reply.status, reply.cost) == ("retry", 0.0) and "no room" in reply.content
    with pytest.raises(Retry):
        sample_answer(AuxPolicy(engine, FORMAT, Sampling()), "x" * 64, seed=0)


def test_negative_prices_raise():
    for wrong in ({"price": -1.0}, {"prompt_price": -0.1}, {"seconds_per_token": -1.0}):
        with pytest.raises(InputError, match="give 0 or more"):
            ask(script_answer("x"), **wrong)
    with pytest.raises(ToolDefinitionError, match="is no tool name"):
        ask(script_answer("x"), name="no name")
