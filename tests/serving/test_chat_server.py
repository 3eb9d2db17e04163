"""A policy behind chat completions: the real client of OpenAI, handaxe's own engine, and clients that send anything."""

import contextlib
import http.client
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task
from handaxe.core.requests import Attempt, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.load import load
from handaxe.models.transcript import Transcript
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.tools.bearer import Bearer, OnlyHere
from handaxe.tools.calculator import calculator

openai = pytest.importorskip("openai")
uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
from handaxe.serving.chat_server import chat_app, chat_server  # noqa: E402

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
ASKED = [{"role": "user", "content": "12*34=?"}]
TOKEN = "a-token-of-the-tests-0123456789"


class Counting(LocalEngine):
    """Counts how many requests are in its stream at the same time."""

    most = 0

    def stream(self):
        stream = super().stream()
        poll = stream.poll

        def counted(wait=0.0):
            self.most = max(self.most, len(stream))
            return poll(wait)

        stream.poll = counted
        return stream


@contextlib.contextmanager
def serving(engine, format, *, wrap=OnlyHere, **settings):
    """The address of a server in a thread of this process."""
    app = wrap(chat_app(engine, format, name="tiny", **settings))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


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


def send(port, body, *, path="/v1/chat/completions", method="POST", headers=None):
    """Status and body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    text = body if isinstance(body, bytes | type(None)) else json.dumps(body).encode()
    connection.request(method, path, text, {"Content-Type": "application/json", **(headers or {})})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def greedy(policy, messages, tools, most=64):
    """What the policy says by its own engine and format."""
    format = policy.format
    ids = format.start(messages, tools).ids
    request = Sample(ids, Sampling(0.0, max_tokens=most), 0, format.stop_ids, format.header_ids)
    (done,) = LocalEngine(policy.model).sample([request])
    return ids, done, format.parse(done.ids, tools)


def test_a_round_with_a_tool_by_the_client_of_openai(policy, client):
    ids, done, parsed = greedy(policy, [Message("user", "12*34=?")], [calculator.schema])
    answer = client.chat.completions.create(model="tiny", messages=ASKED, tools=TOOLS, temperature=0, logprobs=True)
    (choice,) = answer.choices
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls" and choice.message.content is None
    assert (call.function.name, json.loads(call.function.arguments)) == ("calculator", {"expression": "12*34"})
    assert [dict(one.arguments) for one in parsed.calls] == [{"expression": "12*34"}]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(ids), len(done.ids))
    told = choice.logprobs.content
    assert [one.logprob for one in told] == pytest.approx(done.logp) and told[0].token == "<CALL>"

    reply = {"role": "tool", "tool_call_id": call.id, "content": "408"}
    chat = [*ASKED, choice.message.model_dump(exclude_none=True), reply]
    answer = client.chat.completions.create(model="tiny", messages=chat, tools=TOOLS, temperature=0)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("408", "stop")
    assert answer.usage.prompt_tokens == len(ids) + len(done.ids) + len("408") + 3


def test_a_stream_says_what_the_whole_answer_says(client):
    for messages in (ASKED, [{"role": "user", "content": "Say something long: abc abc"}]):
        settings = {"model": "tiny", "messages": messages, "tools": TOOLS, "seed": 3, "n": 2, "max_tokens": 60}
        wholes = client.chat.completions.create(**settings)
        events = list(client.chat.completions.create(**settings, stream=True, stream_options={"include_usage": True}))
        for whole in wholes.choices:
            mine = [event.choices[0] for event in events if event.choices and event.choices[0].index == whole.index]
            assert "".join(one.delta.content or "" for one in mine) == (whole.message.content or "")
            calls = [call.function for one in mine for call in one.delta.tool_calls or []]
            wanted = [call.function for call in whole.message.tool_calls or []]
            assert [(c.name, c.arguments) for c in calls] == [(c.name, c.arguments) for c in wanted]
            assert mine[0].delta.role == "assistant" and mine[-1].finish_reason == whole.finish_reason
        assert events[-1].usage == wholes.usage and not events[-1].choices


def test_text_comes_before_its_turn_is_over(client):
    chat = [{"role": "user", "content": "Tell me 1234567890 1234567890 1234567890."}]
    settings = {"model": "tiny", "messages": chat, "temperature": 1.5, "seed": 1, "max_tokens": 120}
    events = client.chat.completions.create(**settings, stream=True)
    assert sum(bool(event.choices[0].delta.content) for event in events) > 2


def test_sampling_is_obeyed(client):
    def ask(**settings):
        answer = client.chat.completions.create(model="tiny", messages=ASKED, tools=TOOLS, **settings)
        return [(one.message.content, one.finish_reason) for one in answer.choices], answer.usage.completion_tokens

    assert ask(temperature=1.0, seed=4, n=3) == ask(temperature=1.0, seed=4, n=3)
    assert len({text for text, _ in ask(temperature=2.0, seed=4, n=6, max_tokens=20)[0]}) > 1
    cut, tokens = ask(temperature=0, max_tokens=5)
    assert cut == [("<CALL>calc", "length")] and tokens == 5
    call = {"id": "c", "type": "function", "function": {"name": "calculator", "arguments": '{"expression": "12*34"}'}}
    chat = [
        *ASKED,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "408"},
    ]
    for stop, said in ((["9", "0"], "4"), ("8", "40"), (["08", "40"], ""), ("88", "408")):
        answer = client.chat.completions.create(model="tiny", messages=chat, tools=TOOLS, temperature=0, stop=stop)
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (said, "stop")
        events = client.chat.completions.create(
            model="tiny", messages=chat, tools=TOOLS, temperature=0, stop=stop, stream=True
        )
        assert "".join(event.choices[0].delta.content or "" for event in events) == said
    untold = client.chat.completions.create(model="tiny", messages=ASKED, tools=TOOLS, tool_choice="none", max_tokens=1)
    assert untold.usage.prompt_tokens < client.chat.completions.create(
        model="tiny", messages=ASKED, tools=TOOLS, max_tokens=1
    ).usage.prompt_tokens  # fmt: skip


def test_many_clients_are_sampled_together(policy, engine, port):
    questions = [f"{k}*7=?" for k in range(24)]

    def ask(question):
        body = {"messages": [{"role": "user", "content": question}], "tools": TOOLS, "temperature": 0}
        status, found = send(port, body)
        assert status == 200
        return json.loads(found)["choices"][0]["message"].get("tool_calls")[0]["function"]["arguments"]

    engine.most = 0
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(ask, questions))
    wanted = [greedy(policy, [Message("user", q)], [calculator.schema])[2].calls[0].arguments for q in questions]
    assert [json.loads(one) for one in found] == [dict(one) for one in wanted]
    assert engine.most > 4


def test_an_attempt_is_played_through_it_like_through_any_server(port):
    engine = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="tiny", format=Transcript(), attempts=1)
    sampling = Sampling(0.0, max_tokens=64)
    task = Task("t", (Message("user", "12*34=?"),), answer="408")
    attempt = Attempt(task, tool_chat([calculator]), Transcript(), sampling, "a", 0, 0, engine.max_length)
    ((played,),) = driver.run([attempt], linear(max_turns=3), engine)
    assert played.ending.kind == "completed" and played.final_text == "408"
    assert [dict(call.arguments) for call in played.calls] == [{"expression": "12*34"}]
    long = Sample(Transcript().start([Message("user", "x" * 600)], []).ids, sampling, 0, Transcript().stop_ids)
    assert engine.sample([long])[0].finish == "length"
    engine.close()
    unknown = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="other", format=Transcript(), attempts=1)
    with pytest.raises(InputError, match="HTTP 404: .*there is no model 'other'"):
        unknown.ask([Message("user", "?")])
    unknown.close()


DEEP = "[" * 100_000
USER = {"role": "user", "content": "x"}
BAD = [
    (b"", 400, "not JSON"),
    (b"\xff\xfe{}", 400, "not JSON"),
    (DEEP.encode()[:90_000], 400, "not JSON"),
    ([], 400, "not a JSON object"),
    ({}, 400, "messages is a list"),
    ({"messages": []}, 400, "messages is a list"),
    ({"messages": ["x"]}, 400, r"messages\[0\] has no role"),
    ({"messages": [{"role": "judge", "content": "x"}]}, 400, "has no role among"),
    ({"messages": [{"role": "user", "content": 5}]}, 400, r"messages\[0\].content is text"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "is text"),
    ({"messages": [USER], "model": "gpt"}, 404, "there is no model 'gpt'"),
    ({"messages": [USER], "n": 0}, 400, "n is 0; give 1"),
    ({"messages": [USER], "n": 10**9}, 400, "n is 1000000000"),
    ({"messages": [USER], "temperature": -1}, 400, "temperature is -1"),
    (b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}', 400, "temperature is 'nan'"),
    ({"messages": [USER], "top_p": 0}, 400, "top_p is 0"),
    ({"messages": [USER], "max_tokens": 0}, 400, "max_tokens is 0"),
    ({"messages": [USER], "max_tokens": "many"}, 400, "not a whole number"),
    ({"messages": [USER], "seed": 1.5}, 400, "seed is '1.5', not a whole number"),
    ({"messages": [USER], "stop": ""}, 400, "stop is a text"),
    ({"messages": [USER], "stop": [1]}, 400, "stop is a text"),
    ({"messages": [USER], "stream": "yes"}, 400, "stream is true or false"),
    ({"messages": [USER], "logprobs": True, "stream": True}, 400, "logprobs come with whole answers only"),
    ({"messages": [USER], "presence_penalty": 1.5}, 400, "presence_penalty is not obeyed"),
    ({"messages": [USER], "response_format": {"type": "json_object"}}, 400, "response_format is not obeyed"),
    ({"messages": [USER], "tools": [{"type": "function"}]}, 400, r"tools\[0\] has no function"),
    ({"messages": [USER], "tools": [{"function": {"name": "f", "parameters": []}}]}, 200, ""),
    ({"messages": [USER], "tools": [{"function": {"name": "f", "parameters": 5}}]}, 400, "not a JSON schema"),
    ({"messages": [USER], "tools": TOOLS, "tool_choice": "required"}, 400, "nothing forces a call"),
    ({"messages": [USER, {"role": "assistant", "tool_calls": [{}]}]}, 400, "has no function with a name"),
    (
        {"messages": [USER, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]},
        400,
        "are not a JSON object",
    ),
    ({"messages": [{"role": "user", "content": "y" * 600}]}, 400, "maximum context length is 512"),
    ({"messages": [{"role": "user", "content": "y" * 100_000}]}, 413, "more than 100000 bytes"),
]


@pytest.mark.parametrize("body, status, message", BAD, ids=range(len(BAD)))
def test_a_bad_request_is_told_what_is_wrong(port, body, status, message):
    found, text = send(port, body)
    assert found == status, text
    if status != 200:
        error = json.loads(text)["error"]
        assert re.search(message, error["message"]) and error["type"] == "invalid_request_error"
    assert send(port, {"messages": ASKED, "max_tokens": 1})[0] == 200, "and the next one is answered"


def test_half_an_emoji_and_deep_arguments_are_somebody_elses_text(port):
    nested = json.loads('{"a": ' + "[" * 400 + "]" * 400 + "}")
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": json.dumps(nested)}}
    chat = [
        {"role": "user", "content": "\ud83d"},
        {"role": "assistant", "content": "\udc00", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "\ud83d"},
    ]
    status, text = send(port, {"messages": chat[:1], "max_tokens": 2})
    assert status == 200, text
    assert send(port, {"messages": chat, "tools": TOOLS, "max_tokens": 2})[0] in (200, 400)
    assert send(port, {"messages": ASKED, "max_tokens": 1})[0] == 200


def test_other_pages_and_methods(port):
    assert send(port, None, path="/v1/models", method="GET")[0] == 200
    assert json.loads(send(port, None, path="/v1/models/tiny", method="GET")[1])["id"] == "tiny"
    assert send(port, None, path="/v1/models/no/such", method="GET")[0] == 404
    assert send(port, None, path="/health", method="GET")[0] == 200
    for path, method, status in [("/", "GET", 404), ("/v1/chat/completions", "GET", 405), ("/v2", "POST", 404)]:
        found, text = send(port, b"" if method == "POST" else None, path=path, method=method)
        assert found == status and "POST /v1/chat/completions" in json.loads(text)["error"]["message"]


def test_only_programs_of_this_machine_may_ask(port):
    body = {"messages": ASKED, "max_tokens": 1}
    assert send(port, body, headers={"Host": "evil.example"})[0] == 421
    assert send(port, body, headers={"Origin": "http://evil.example"})[0] == 403
    assert send(port, body, headers={"Origin": "null"})[0] == 403
    assert send(port, body, headers={"Origin": f"http://localhost:{port}", "Host": "localhost"})[0] == 200


def test_with_a_token_who_brings_it_may(policy):
    with serving(LocalEngine(policy.model), policy.format, wrap=lambda app: Bearer(app, TOKEN)) as port:
        for key, allowed in ((TOKEN, True), ("another-token-of-the-tests", False)):
            with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0) as client:
                settings = {"model": "tiny", "messages": ASKED, "max_tokens": 1}
                if allowed:
                    assert client.chat.completions.create(**settings).choices
                else:
                    with pytest.raises(openai.AuthenticationError):
                        client.chat.completions.create(**settings)


def test_more_than_it_takes_are_told_to_come_again(policy):
    with serving(LocalEngine(policy.model), policy.format, max_waiting=3) as port:
        assert send(port, {"messages": ASKED, "n": 4})[0] == 429
        assert send(port, {"messages": ASKED, "n": 3, "max_tokens": 2})[0] == 200


def test_a_client_that_goes_leaves_nothing_at_work(policy):
    engine = Counting(policy.model)
    with serving(engine, policy.format) as port:
        for stream in (True, False):
            gone = socket.create_connection(("127.0.0.1", port))
            body = json.dumps({"messages": ASKED, "temperature": 3.0, "max_tokens": 400, "stream": stream, "n": 64})
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            gone.sendall((head + body).encode())
            time.sleep(0.05)
            gone.close()
        assert send(port, {"messages": ASKED, "max_tokens": 2})[0] == 200


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"host": "0.0.0.0"}, "so a token is needed"),
        ({"port": 99999}, "port 99999 is not valid"),
        ({"host": "no.such.host.invalid"}, "so a token is needed"),
        ({"token": "short"}, "16 or more letters"),
    ],
)
def test_where_it_cannot_listen(policy, settings, message):
    with pytest.raises(InputError, match=message):
        chat_server(LocalEngine(policy.model), policy.format, name="tiny", **settings)


def test_a_port_that_is_taken(policy):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot listen at"):
        chat_server(LocalEngine(policy.model), policy.format, name="tiny", port=taken.getsockname()[1])
