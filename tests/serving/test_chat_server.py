"""Chat server with OpenAI's client, with OpenAICompatible, and with invalid requests."""

import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task
from handaxe.core.requests import Attempt, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.safe_encoder import _check_count
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import load
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.tools.bearer_auth import BearerAuth
from handaxe.tools.calculator import calculator

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
from helpers.chat_app import send, serving  # noqa: E402

from handaxe.serving.chat_server import chat_server  # noqa: E402

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "calculator",
            "description": calculator.schema.description,
            "parameters": calculator.schema.parameters,
        },
    }
]
QUESTION = [{"role": "user", "content": "12*34=?"}]
TOKEN = "a-token-of-the-tests-0123456789"


class Counting(LocalEngine):
    """Records the largest number of requests in its stream at the same time."""

    max_running = 0

    def stream(self):
        stream = super().stream()
        poll = stream.poll

        def counted(wait=0.0):
            self.max_running = max(self.max_running, len(stream))
            return poll(wait)

        stream.poll = counted
        return stream


@pytest.fixture(scope="module")
def policy():
    return load("tiny")


@pytest.fixture(scope="module")
def engine(policy):
    return Counting(policy.model)


@pytest.fixture(scope="module")
def port(policy, engine):
    with serving(engine, policy.format, max_body=100_000, max_waiting=200) as port:
        yield port


@pytest.fixture(scope="module")
def client(port):
    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="any", max_retries=0) as made:
        yield made


def greedy(policy, messages, tools, max_tokens=64):
    """Sample greedily with the policy's engine and format; returns prompt ids, completion and parsed turn."""
    format = policy.format
    ids = format.start(messages, tools).ids
    request = Sample(ids, Sampling(0.0, max_tokens=max_tokens), 0, format.stop_ids, format.header_ids)
    (done,) = LocalEngine(policy.model).sample([request])
    return ids, done, format.parse(done.ids, tools)


def test_openai_client_completes_a_tool_call(policy, client):
    ids, done, parsed = greedy(policy, [Message("user", "12*34=?")], [calculator.schema])
    answer = client.chat.completions.create(model="tiny", messages=QUESTION, tools=TOOLS, temperature=0, logprobs=True)
    (choice,) = answer.choices
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls" and choice.message.content is None
    assert (call.function.name, json.loads(call.function.arguments)) == ("calculator", {"expression": "12*34"})
    assert [dict(one.arguments) for one in parsed.calls] == [{"expression": "12*34"}]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(ids), len(done.ids))
    tokens = choice.logprobs.content
    assert [one.logprob for one in tokens] == pytest.approx(done.logp) and tokens[0].token == "<CALL>"

    reply = {"role": "tool", "tool_call_id": call.id, "content": "408"}
    chat = [*QUESTION, choice.message.model_dump(exclude_none=True), reply]
    answer = client.chat.completions.create(model="tiny", messages=chat, tools=TOOLS, temperature=0)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("408", "stop")
    assert answer.usage.prompt_tokens == len(ids) + len(done.ids) + len("408") + 3


def slow_top(policy, ids, count, temperature):
    """The most likely tokens after ids: a slow twin over the model's hidden states."""
    row = torch.tensor([list(ids)])
    with torch.no_grad():
        logits_V = policy.model.head(policy.model.hidden(row, torch.ones_like(row, dtype=torch.bool))[0, -1])
    logp_V = (logits_V / temperature).log_softmax(-1)
    order = sorted(range(len(logp_V)), key=lambda token: -float(logp_V[token]))[:count]
    return [(policy.format.decode([token]), float(logp_V[token])) for token in order]


@pytest.mark.parametrize("stop", [None, ["no such text"]], ids=["whole", "in steps"])
def test_alternatives_of_each_token_equal_the_distribution(policy, client, stop):
    ids = policy.format.start([Message("user", "12*34=?")], [calculator.schema]).ids
    settings = {"model": "tiny", "messages": QUESTION, "tools": TOOLS, "seed": 6, "temperature": 4.0, "max_tokens": 11}
    answer = client.chat.completions.create(**settings, stop=stop, logprobs=True, top_logprobs=20)
    plain = client.chat.completions.create(**settings, stop=stop)
    assert answer.choices[0].message.content == plain.choices[0].message.content, "they change no token"
    tokens = answer.choices[0].logprobs.content
    assert len(tokens) == answer.usage.completion_tokens == 11
    request = Sample(ids, Sampling(4.0, max_tokens=11), 6, policy.format.stop_ids, policy.format.header_ids)
    (done,) = LocalEngine(policy.model).sample([request])
    for k, token in enumerate(tokens):
        want = slow_top(policy, [*ids, *done.ids[:k]], 20, 4.0)
        assert [one.logprob for one in token.top_logprobs] == pytest.approx([logp for _, logp in want], abs=1e-4)
        assert token.top_logprobs[0].token == want[0][0] and token.logprob == pytest.approx(done.logp[k], abs=1e-4)
        assert token.bytes in (None, list(token.token.encode()))


def test_alternatives_of_concurrent_requests_are_their_own(policy, port):
    def ask(k):
        question = [{"role": "user", "content": f"{k}+1=?"}]
        body = {"messages": question, "max_tokens": 3, "logprobs": True, "top_logprobs": k % 4, "seed": k}
        return json.loads(send(port, body)[1])["choices"][0]["logprobs"]["content"]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, range(8)))
    for k, tokens in enumerate(together):
        assert [len(one["top_logprobs"]) for one in tokens] == [k % 4] * len(tokens)
        for one, alone in zip(tokens, ask(k), strict=True):
            wanted = [each["logprob"] for each in alone["top_logprobs"]]
            assert [each["logprob"] for each in one["top_logprobs"]] == pytest.approx(wanted, abs=1e-4)


class Silent(LocalEngine):
    """Reports no alternatives, as an engine of another program may."""

    def stream(self):
        stream = super().stream()
        poll = stream.poll
        stream.poll = lambda: [(ticket, done._replace(top=())) for ticket, done in poll()]
        return stream


def test_engine_without_alternatives_gets_status_400(policy):
    body = {"messages": QUESTION, "max_tokens": 2, "logprobs": True, "top_logprobs": 2}
    with serving(Silent(policy.model), policy.format) as port:
        status, text = send(port, body)
        assert status == 400 and "this server's engine reports no alternatives" in text.decode()
        assert send(port, {**body, "top_logprobs": 0})[0] == 200


def test_stream_equals_the_complete_response(client):
    for messages in (QUESTION, [{"role": "user", "content": "Say something long: abc abc"}]):
        settings = {"model": "tiny", "messages": messages, "tools": TOOLS, "seed": 3, "n": 2, "max_tokens": 60}
        complete = client.chat.completions.create(**settings)
        events = list(client.chat.completions.create(**settings, stream=True, stream_options={"include_usage": True}))
        for choice in complete.choices:
            parts = [event.choices[0] for event in events if event.choices and event.choices[0].index == choice.index]
            assert "".join(one.delta.content or "" for one in parts) == (choice.message.content or "")
            calls = [call.function for one in parts for call in one.delta.tool_calls or []]
            wanted = [call.function for call in choice.message.tool_calls or []]
            assert [(c.name, c.arguments) for c in calls] == [(c.name, c.arguments) for c in wanted]
            assert parts[0].delta.role == "assistant" and parts[-1].finish_reason == choice.finish_reason
        assert events[-1].usage == complete.usage and not events[-1].choices


def test_text_is_streamed_before_the_turn_ends(client):
    chat = [{"role": "user", "content": "Tell me 1234567890 1234567890 1234567890."}]
    settings = {"model": "tiny", "messages": chat, "temperature": 1.5, "seed": 1, "max_tokens": 120}
    events = client.chat.completions.create(**settings, stream=True)
    assert sum(bool(event.choices[0].delta.content) for event in events) > 2


def test_sampling_parameters_and_stop_strings_apply(client):
    def ask(**settings):
        answer = client.chat.completions.create(model="tiny", messages=QUESTION, tools=TOOLS, **settings)
        return [(one.message.content, one.finish_reason) for one in answer.choices], answer.usage.completion_tokens

    assert ask(temperature=1.0, seed=4, n=3) == ask(temperature=1.0, seed=4, n=3)
    assert len({text for text, _ in ask(temperature=2.0, seed=4, n=6, max_tokens=20)[0]}) > 1
    cut, tokens = ask(temperature=0, max_tokens=5)
    assert cut == [("<CALL>calc", "length")] and tokens == 5
    call = {"id": "c", "type": "function", "function": {"name": "calculator", "arguments": '{"expression": "12*34"}'}}
    chat = [
        *QUESTION,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "408"},
    ]
    for stop, text in ((["9", "0"], "4"), ("8", "40"), (["08", "40"], ""), ("88", "408")):
        answer = client.chat.completions.create(model="tiny", messages=chat, tools=TOOLS, temperature=0, stop=stop)
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (text, "stop")
        events = client.chat.completions.create(
            model="tiny", messages=chat, tools=TOOLS, temperature=0, stop=stop, stream=True
        )
        assert "".join(event.choices[0].delta.content or "" for event in events) == text
    no_tools = client.chat.completions.create(
        model="tiny", messages=QUESTION, tools=TOOLS, tool_choice="none", max_tokens=1
    )
    assert no_tools.usage.prompt_tokens < client.chat.completions.create(
        model="tiny", messages=QUESTION, tools=TOOLS, max_tokens=1
    ).usage.prompt_tokens  # fmt: skip


def test_concurrent_clients_share_batches(policy, engine, port):
    questions = [f"{k}*7=?" for k in range(24)]

    def ask(question):
        body = {"messages": [{"role": "user", "content": question}], "tools": TOOLS, "temperature": 0}
        status, found = send(port, body)
        assert status == 200
        return json.loads(found)["choices"][0]["message"].get("tool_calls")[0]["function"]["arguments"]

    engine.max_running = 0
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(ask, questions))
    wanted = [greedy(policy, [Message("user", q)], [calculator.schema])[2].calls[0].arguments for q in questions]
    assert [json.loads(one) for one in found] == [dict(one) for one in wanted]
    assert engine.max_running > 4


def test_openai_compatible_engine_plays_a_rollout(port):
    engine = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="tiny", format=Transcript(), attempts=1)
    sampling = Sampling(0.0, max_tokens=64)
    task = Task("t", (Message("user", "12*34=?"),), answer="408")
    attempt = Attempt(task, tool_chat([calculator]), Transcript(), sampling, "a", 0, 0, engine.max_length)
    ((trajectory,),) = driver.run([attempt], linear(max_turns=3), engine)
    assert trajectory.ending.kind == "completed" and trajectory.final_text == "408"
    assert [dict(call.arguments) for call in trajectory.calls] == [{"expression": "12*34"}]
    long = Sample(Transcript().start([Message("user", "x" * 600)], []).ids, sampling, 0, Transcript().stop_ids)
    assert engine.sample([long])[0].finish == "length"
    engine.close()
    unknown = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="other", format=Transcript(), attempts=1)
    with pytest.raises(InputError, match="HTTP 404: .*there is no model 'other'"):
        unknown.ask([Message("user", "?")])
    unknown.close()


NESTED = "[" * 100_000
USER = {"role": "user", "content": "x"}
INVALID = [
    (b"", 400, "not JSON"),
    (b"\xff\xfe{}", 400, "not JSON"),
    (NESTED.encode()[:90_000], 400, "not JSON"),
    ([], 400, "not a JSON object"),
    ({}, 400, "messages must be a list"),
    ({"messages": []}, 400, "messages must be a list"),
    ({"messages": ["x"]}, 400, r"messages\[0\] has no role"),
    ({"messages": [{"role": "judge", "content": "x"}]}, 400, "has no role among"),
    ({"messages": [{"role": "user", "content": 5}]}, 400, r"messages\[0\].content must be text"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "reads text only"),
    ({"messages": [USER], "model": "gpt"}, 404, "there is no model 'gpt'"),
    ({"messages": [USER], "n": 0}, 400, "n is 0; give 1"),
    ({"messages": [USER], "n": 10**9}, 400, "n is 1000000000"),
    ({"messages": [USER], "temperature": -1}, 400, "temperature is -1"),
    (b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}', 400, "temperature is 'nan'"),
    ({"messages": [USER], "temperature": 1e-308}, 400, "temperature is 1e-308; give 0 .greedy., or 1e-30 or more"),
    ({"messages": [USER], "temperature": 10**400}, 400, r"temperature is 10000000000000000000... \(401 digits\); give"),
    ({"messages": [USER], "n": 10**400}, 400, r"n is 1000.* \(401 digits\); give 1 to 128"),
    ({"messages": [USER], "max_tokens": 10**400}, 400, r"max_tokens is 1000.* \(401 digits\); give 1"),
    ({"messages": [USER], "seed": 10**400}, 400, r"seed is 1000.* \(401 digits\); give -9223372036854775808"),
    ({"messages": [USER], "seed": -(10**400)}, 400, "seed is -1000"),
    ({"messages": [USER], "top_p": 0}, 400, "top_p is 0"),
    ({"messages": [USER], "max_tokens": 0}, 400, "max_tokens is 0"),
    ({"messages": [USER], "max_tokens": "many"}, 400, "not an integer"),
    ({"messages": [USER], "seed": 1.5}, 400, "seed is '1.5', not an integer"),
    ({"messages": [USER], "stop": ""}, 400, "stop must be a non-empty text"),
    ({"messages": [USER], "stop": [1]}, 400, "stop must be a non-empty text"),
    ({"messages": [USER], "stream": "yes"}, 400, "stream must be true or false"),
    ({"messages": [USER], "logprobs": True, "stream": True}, 400, "logprobs are not supported with stream"),
    ({"messages": [USER], "logprobs": True, "top_logprobs": 21}, 400, "^top_logprobs is 21; give 0 to 20$"),
    ({"messages": [USER], "logprobs": True, "top_logprobs": -1}, 400, "^top_logprobs is -1; give 0 to 20$"),
    ({"messages": [USER], "logprobs": True, "top_logprobs": True}, 400, "^top_logprobs is 'True', not an integer$"),
    ({"messages": [USER], "logprobs": True, "top_logprobs": 1.0}, 400, "^top_logprobs is '1.0', not an integer$"),
    ({"messages": [USER], "top_logprobs": 3}, 400, "^top_logprobs needs logprobs: true$"),
    (
        {"messages": [USER], "logprobs": True, "top_logprobs": 20, "n": 5, "max_tokens": 100},
        400,
        "^top_logprobs is 20 for up to 500 tokens; give at most 8192 in all, by a lower max_tokens, n or top_logprobs$",
    ),
    ({"messages": [USER], "presence_penalty": 1.5}, 400, "presence_penalty is not supported"),
    ({"messages": [USER], "response_format": {"type": "json_object"}}, 400, "response_format is not supported"),
    ({"messages": [USER], "tools": [{"type": "function"}]}, 400, r"tools\[0\] has no function"),
    ({"messages": [USER], "tools": [{"function": {"name": "f", "parameters": []}}]}, 200, ""),
    ({"messages": [USER], "tools": [{"function": {"name": "f", "parameters": 5}}]}, 400, "not a JSON schema"),
    ({"messages": [USER], "tools": TOOLS, "tool_choice": "required"}, 400, "a call cannot be forced"),
    ({"messages": [USER, {"role": "assistant", "tool_calls": [{}]}]}, 400, "has no function with a name"),
    (
        {"messages": [USER, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]},
        400,
        "are not a JSON object",
    ),
    ({"messages": [{"role": "user", "content": "y" * 600}]}, 400, "maximum context length is 512"),
    ({"messages": [{"role": "user", "content": "y" * 100_000}]}, 413, "more than 100000 bytes"),
]


@pytest.mark.parametrize("body, status, message", INVALID, ids=range(len(INVALID)))
def test_invalid_request_gets_a_specific_error(port, body, status, message):
    found, text = send(port, body)
    assert found == status, text
    if status != 200:
        error = json.loads(text)["error"]
        assert re.search(message, error["message"]) and error["type"] == "invalid_request_error"
    assert send(port, {"messages": QUESTION, "max_tokens": 1})[0] == 200, "the next request is answered"


def test_deep_arguments_are_answered(port):
    call = {"id": "c", "function": {"name": "f", "arguments": '{"a": ' + "[" * 400 + "]" * 400 + "}"}}
    chat = [USER, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "x"}]
    assert send(port, {"messages": chat, "tools": TOOLS, "max_tokens": 2})[0] == 400
    assert send(port, {"messages": QUESTION, "max_tokens": 1})[0] == 200


class Faulty(Compact):
    """Raises for conversations that start with "!", and for turns with a tool "!"."""

    def start(self, messages, tools):
        if messages[0].content.startswith("!"):
            raise ValueError("a bug of the format")
        return super().start(messages, tools)

    def parse(self, ids, tools):
        if any(tool.name == "!" for tool in tools):
            raise ValueError("a bug of the format")
        return super().parse(ids, tools)


def test_format_that_raises_fails_its_request_alone(policy):
    bodies = [{"messages": [{"role": "user", "content": f"{k}*7=?"}], "max_tokens": 40, "seed": k} for k in range(8)]
    bad = {"messages": [{"role": "user", "content": "!"}]}
    unparsed = {"messages": QUESTION, "max_tokens": 40, "n": 2, "tools": [{"function": {"name": "!"}}]}
    with serving(LocalEngine(policy.model), Faulty()) as port, ThreadPoolExecutor(10) as pool:
        found = [status for status, _ in pool.map(lambda body: send(port, body), [*bodies, bad, unparsed])]
    assert found == [200] * 8 + [500, 500]


class Limited(Compact):
    """Reads long texts only up to the limit of the server; records the threads of all calls."""

    def __init__(self):
        super().__init__()
        self.threads = set()

    def __getattribute__(self, name):
        if name in ("start", "extend", "parse", "encode_turn", "decode"):
            self.threads.add(threading.current_thread().name)
        return super().__getattribute__(name)

    def start(self, messages, tools):
        if messages[0].content.startswith("long"):
            _check_count(5000)
        return super().start(messages, tools)


def test_format_runs_in_its_own_threads_and_stops_at_the_context_length(policy):
    format, long = Limited(), {"messages": [{"role": "user", "content": "long"}]}
    with serving(LocalEngine(policy.model), format) as port:
        format.threads.clear()
        for more in ({}, {"stream": True}, {"stop": ["x"]}, {"n": 2}):
            assert send(port, {"messages": QUESTION, "tools": TOOLS, "max_tokens": 40, **more})[0] == 200
        assert format.threads and all(name.startswith("handaxe-format") for name in format.threads)
        status, text = send(port, long)
    error = json.loads(text)["error"]
    assert status == 400 and error["code"] == "context_length_exceeded"
    assert error["message"].startswith("the conversation has at least 5000 tokens, and this model's maximum")


def test_negligible_temperature_leaves_requests_in_flight_alone(port):
    bodies = [{"messages": QUESTION, "temperature": 1.0, "max_tokens": 60, "seed": k} for k in range(12)]
    tiny = [{"messages": QUESTION, "temperature": 1e-308, "stream": stream} for stream in (True, False)]
    with ThreadPoolExecutor(14) as pool:
        found = [status for status, _ in pool.map(lambda body: send(port, body), [*bodies, *tiny])]
    assert found == [200] * 12 + [400] * 2


def test_models_and_health_are_served_and_other_routes_refused(port):
    assert send(port, None, path="/v1/models", method="GET")[0] == 200
    assert json.loads(send(port, None, path="/v1/models/tiny", method="GET")[1])["id"] == "tiny"
    assert send(port, None, path="/v1/models/no/such", method="GET")[0] == 404
    assert send(port, None, path="/health", method="GET")[0] == 200
    for path, method, status in [("/", "GET", 404), ("/v1/chat/completions", "GET", 405), ("/v2", "POST", 404)]:
        found, text = send(port, b"" if method == "POST" else None, path=path, method=method)
        assert found == status and "POST /v1/chat/completions" in json.loads(text)["error"]["message"]


def test_foreign_hosts_and_origins_are_refused(port):
    body = {"messages": QUESTION, "max_tokens": 1}
    assert send(port, body, headers={"Host": "evil.example"})[0] == 421
    assert send(port, body, headers={"Origin": "http://evil.example"})[0] == 403
    assert send(port, body, headers={"Origin": "null"})[0] == 403
    assert send(port, body, headers={"Origin": f"http://localhost:{port}", "Host": "localhost"})[0] == 200


def test_token_is_required_if_set(policy):
    with serving(LocalEngine(policy.model), policy.format, wrap=lambda app: BearerAuth(app, TOKEN)) as port:
        for key, allowed in ((TOKEN, True), ("another-token-of-the-tests", False)):
            with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0) as client:
                settings = {"model": "tiny", "messages": QUESTION, "max_tokens": 1}
                if allowed:
                    assert client.chat.completions.create(**settings).choices
                else:
                    with pytest.raises(openai.AuthenticationError):
                        client.chat.completions.create(**settings)


def test_requests_above_the_limit_get_status_429(policy):
    with serving(LocalEngine(policy.model), policy.format, max_waiting=3) as port:
        assert send(port, {"messages": QUESTION, "n": 4})[0] == 429
        assert send(port, {"messages": QUESTION, "n": 3, "max_tokens": 2})[0] == 200


def test_disconnected_client_cancels_its_requests(policy):
    engine = Counting(policy.model)
    with serving(engine, policy.format) as port:
        for stream in (True, False):
            disconnected = socket.create_connection(("127.0.0.1", port))
            body = json.dumps({"messages": QUESTION, "temperature": 3.0, "max_tokens": 400, "stream": stream, "n": 64})
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            disconnected.sendall((head + body).encode())
            time.sleep(0.05)
            disconnected.close()
        assert send(port, {"messages": QUESTION, "max_tokens": 2})[0] == 200


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"host": "0.0.0.0"}, "so a token is needed"),
        ({"port": 99999}, "port 99999 is not valid"),
        ({"host": "no.such.host.invalid"}, "so a token is needed"),
        ({"token": "short"}, "16 or more letters"),
    ],
)
def test_invalid_address_or_token_raises(policy, settings, message):
    with pytest.raises(InputError, match=message):
        chat_server(LocalEngine(policy.model), policy.format, name="tiny", **settings)


def test_used_port_raises(policy):
    with socket.create_server(("127.0.0.1", 0)) as used, pytest.raises(InputError, match="cannot listen at"):
        chat_server(LocalEngine(policy.model), policy.format, name="tiny", port=used.getsockname()[1])


def test_more_messages_than_the_context_has_tokens_are_refused_unrendered(policy):
    """Rendering and tokenizing thousands of messages would take longer than a request beside them may wait."""

    class Never(Compact):
        def start(self, messages, tools):
            raise AssertionError("rendered")

    with serving(LocalEngine(policy.model), Never()) as port:
        many = [{"role": "user", "content": ""}] * policy.model.max_length
        status, body = send(port, {"messages": many})
        assert status == 400 and json.loads(body)["error"]["code"] == "context_length_exceeded"
        assert "has at least 512 tokens" in json.loads(body)["error"]["message"]
