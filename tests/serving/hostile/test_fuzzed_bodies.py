"""Real chat and MCP servers answer fuzzed bodies with the right status while requests of another client complete.

A body is drawn with its status: a valid request, or a valid request with one fault.
"""

import contextlib
import http.client
import json
import re
import resource
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("mcp")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HANDAXE = [sys.executable, "-c", "import sys; from handaxe.cli import main; sys.exit(main())", "serve"]
CHAT = "/v1/chat/completions"
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
FILES = 128
"""Files that a server may open."""
fuzz = settings(
    max_examples=200,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(*words):
    """Run `handaxe serve` and yield its port."""
    process = subprocess.Popen(
        [*HANDAXE, *words, "--port", str(free_port())],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
    )
    try:
        yield int(re.search(r":(\d+)/", process.stderr.readline())[1])
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


class Client:
    """Sends requests to a server, each on its own connection.

    Attributes:
        victim: another client, whose requests run in `pool` beside those of this one.
    """

    def __init__(self, port, path, *, pool=None):
        self.port, self.path, self.headers = port, path, dict(JSON)
        self.pool = pool
        self.victim = Client(port, path) if pool else None

    def send(self, body, *, method="POST", path=None):
        """Send a body; returns status, headers and response."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            connection.request(method, path or self.path, body, self.headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def check(self, body, status, valid, **request):
        """Send a body beside a valid request of the victim; check both statuses and return the response."""
        victim = self.pool.submit(self.victim.send, json.dumps(valid))
        found, _, text = self.send(body, **request)
        assert victim.result()[0] == 200
        assert found == status, text[:500]
        return text


@pytest.fixture(scope="module")
def chat():
    with server("--model", "tiny") as port, ThreadPoolExecutor(1) as pool:
        yield Client(port, CHAT, pool=pool)


@pytest.fixture(scope="module")
def tools():
    words = ["handaxe.tools.calculator:calculator", "--transport", "http"]
    with server(*words) as port, ThreadPoolExecutor(1) as pool:
        client = Client(port, "/mcp", pool=pool)
        for one in (client, client.victim):
            status, headers, _ = one.send(json.dumps(INITIALIZE))
            assert status == 200
            one.headers |= {"Mcp-Session-Id": headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
            assert one.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))[0] == 202
        yield client


# --- grammar of JSON and its faults ----------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
HUGE = st.integers(20, 400).map(lambda digits: 10**digits)
SURROGATE = st.sampled_from([r"\ud800", r"\uDBFF", r"\udc00", r"\uDFFF", r"a\ud83d b", r"\udc00\ud800"])


def encode(value):
    return json.dumps(value).encode()


def with_raw(value, raw):
    """Encode a value in which RAW stands for raw JSON text within a string."""
    return json.dumps(value).replace("RAW", raw).encode()


def nested(depth):
    return "[" * depth + "]" * depth


def broken(valid):
    """Bodies that are not JSON: a truncated request, random bytes, deep nesting, invalid UTF-8."""
    return st.one_of(
        st.builds(lambda body, share: body[: int(share * (len(body) - 1))], valid.map(encode), st.floats(0, 1)),
        st.binary(max_size=50).map(lambda tail: b"{\xff" + tail),
        st.integers(20_000, 90_000).map(lambda depth: nested(depth).encode()),
    )


# --- chat completions ------------------------------------------------------------------------------------------------

MESSAGE = st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "system"]), TEXT)
CALL = st.builds(
    lambda name, arguments: {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}},
    TEXT,
    st.dictionaries(TEXT, st.integers(), max_size=2).map(json.dumps),
)
CALLING = st.lists(CALL, min_size=1, max_size=2).map(
    lambda calls: [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "408"},
    ]
)
MESSAGES = st.builds(
    lambda first, calling, last: [*first, *calling, *last],
    st.lists(MESSAGE, min_size=1, max_size=2),
    st.just([]) | CALLING,
    st.lists(MESSAGE, max_size=1),
)
VALID = st.fixed_dictionaries(
    {"messages": MESSAGES, "max_tokens": st.integers(1, 12)},
    optional={
        "model": st.sampled_from([None, "tiny"]),
        "temperature": st.floats(1e-30, 100) | st.just(0),
        "top_p": st.floats(1e-6, 1),
        "top_k": st.integers(0, 2**31),
        "seed": st.integers(-(2**63), 2**64),
        "n": st.integers(1, 3),
        "stop": TEXT.filter(bool) | st.lists(TEXT.filter(bool), max_size=16),
        "stream": st.booleans(),
        "metadata": VALUE,
        "user": TEXT,
    },
)
NO_NUMBER = st.sampled_from([True, "1", [1], {"a": 1}])
FAULTS = st.one_of(
    st.tuples(
        st.sampled_from(["n", "max_tokens", "seed", "temperature", "top_k", "top_p", "top_logprobs"]),
        HUGE | HUGE.map(int.__neg__),
    ),
    st.tuples(st.sampled_from(["n", "max_tokens", "seed", "temperature", "top_k", "top_p", "top_logprobs"]), NO_NUMBER),
    st.tuples(st.sampled_from(["n", "max_tokens", "seed", "top_k", "top_logprobs"]), st.floats()),
    st.tuples(
        st.just("temperature"), st.sampled_from([1e-308, 5e-324, 1e-31, -1e-308, 101.0, float("nan"), float("inf")])
    ),
    st.tuples(st.just("stop"), st.sampled_from(["", [""], [1], {"a": 1}, ["a"] * 17])),
    st.tuples(
        st.just("messages"), st.sampled_from([None, [], {}, "x", [None], [[]], [{"role": "judge"}], [{"role": []}]])
    ),
    st.tuples(st.just("messages"), st.integers(600, 60_000).map(lambda n: [{"role": "user", "content": "y" * n}])),
    st.tuples(st.just("messages"), st.integers(300, 3_000).map(lambda n: [{"role": "user", "content": "y"}] * n)),
    st.tuples(st.sampled_from(["stream", "logprobs"]), st.sampled_from([2, "yes", [], {}])),
    st.tuples(st.just("tools"), st.sampled_from([5, [5], [{}], [{"function": {"name": 5}}]])),
    st.tuples(st.sampled_from(["logit_bias", "response_format", "functions"]), st.sampled_from([5, "x", [[]]])),
)


def marked(place):
    """A valid request with the text "RAW" at a place."""
    call = {"id": "RAW" if place == "id" else "c", "function": {"name": "RAW" if place == "name" else "f"}}
    call["function"]["arguments"] = '{"RAW": 1}' if place == "arguments" else "{}"
    messages = [
        {"role": "user", "content": "RAW" if place == "content" else "a"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "b"},
    ]
    return {"messages": messages, "max_tokens": 2, "stop": "RAW" if place == "stop" else "x", place: "RAW"}


SURROGATES = st.builds(
    lambda place, raw: with_raw(marked(place), raw.replace("\\", "\\\\") if place == "arguments" else raw),
    st.sampled_from(["content", "id", "name", "arguments", "stop", "metadata"]),
    SURROGATE,
)
LARGE = st.integers(217_000, 3_000_000).map(lambda size: b" " * size)
CHAT_BODIES = st.one_of(
    st.tuples(VALID.map(encode), st.just(200)),
    st.tuples(st.builds(lambda body, fault: encode(body | {fault[0]: fault[1]}), VALID, FAULTS), st.just(400)),
    st.tuples(broken(VALID), st.just(400)),
    st.tuples(SURROGATES, st.just(400)),
    st.tuples((st.none() | st.integers() | TEXT | st.lists(VALUE, max_size=3)).map(encode), st.just(400)),
    st.tuples(VALID.map(lambda body: encode(body | {"model": "other"})), st.just(404)),
    st.tuples(LARGE, st.just(413)),
)
QUESTION = {"messages": [{"role": "user", "content": "12*34=?"}], "max_tokens": 4}


@pytest.mark.slow
@fuzz
@given(CHAT_BODIES)
def test_chat_completions_answer_fuzzed_bodies(chat, drawn):
    body, status = drawn
    text = chat.check(body, status, QUESTION)
    if status == 400:
        assert json.loads(text)["error"]["type"] == "invalid_request_error"


GETS = {"/v1/models": 200, "/v1/models/tiny": 200, "/v1/models/other": 404, "/health": 200, "/v1": 404}


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(path, marks=[pytest.mark.slow] * (GETS[path] == 404)) for path in GETS])
@fuzz
@given(CHAT_BODIES, st.sampled_from(["GET", "POST"]))
def test_other_routes_of_the_chat_server_answer_fuzzed_bodies(chat, path, drawn, method):
    status = GETS[path] if method == "GET" or path == "/v1" else 405
    chat.check(drawn[0], status, QUESTION, method=method, path=path)


# --- MCP -------------------------------------------------------------------------------------------------------------

CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}


def request(method, params, number=2):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def calling(arguments, name="calculator"):
    return request("tools/call", {"name": name, "arguments": arguments})


SUM = calling({"expression": "1+1"})
REQUESTS = st.one_of(
    TEXT.map(lambda text: calling({"expression": text})),
    st.dictionaries(TEXT, VALUE, max_size=3).map(calling),
    VALUE.map(calling),
    HUGE.map(lambda number: calling({"expression": number})),
    TEXT.map(lambda name: calling({}, name)),
    TEXT.map(lambda method: request(f"x/{method}", {})),
    st.integers(0, 2**62).map(lambda number: request("tools/list", {}, number)),
    st.integers(2_001, 100_000).map(lambda size: calling({"expression": "9" * size})),
    st.integers(1, 400).map(lambda depth: calling({"expression": "(" * depth + "1" + ")" * depth})),
)
NO_REQUESTS = st.one_of(
    st.none().map(encode),
    st.integers().map(encode),
    TEXT.map(encode),
    st.lists(st.just(SUM), max_size=30).map(encode),
    st.builds(lambda body, field: encode({k: v for k, v in body.items() if k != field}), REQUESTS, st.just("jsonrpc")),
    SURROGATE.map(lambda raw: with_raw(calling({"expression": "RAW"}), raw)),
    SURROGATE.map(lambda raw: with_raw(calling({}, "RAW"), raw)),
    st.integers(300, 3_000).map(lambda depth: encode(calling({"a": "RAW"})).replace(b'"RAW"', nested(depth).encode())),
    broken(REQUESTS),
)
MCP_BODIES = st.one_of(
    st.tuples(REQUESTS.map(encode), st.just(200)),
    st.tuples(TEXT.map(lambda text: encode({"jsonrpc": "2.0", "method": f"x/{text}"})), st.just(202)),
    st.tuples(NO_REQUESTS, st.just(400)),
    st.tuples(st.integers(4_200_000, 6_000_000).map(lambda size: b" " * size), st.just(413)),
)


@pytest.mark.slow
@fuzz
@given(MCP_BODIES)
def test_mcp_answers_fuzzed_bodies(tools, drawn):
    body, status = drawn
    tools.check(body, status, SUM)
    assert b'"text":"2"' in tools.send(encode(SUM))[2]


# --- incomplete requests ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["--model", "tiny"],
        pytest.param(["handaxe.tools.calculator:calculator", "--transport", "http"], marks=pytest.mark.slow),
    ],
)
def test_incomplete_requests_do_not_exhaust_the_server(words):
    body, path = (QUESTION, CHAT) if "--model" in words else (INITIALIZE, "/mcp")
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(server(*words))
        for half in (b"", b"POST / HT", b"POST / HTTP/1.1\r\nHost: localhost\r\n"):
            for _ in range(3 * FILES):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
                with contextlib.suppress(OSError):  # the server has already replaced it
                    connection.sendall(half)
            assert Client(port, path).send(encode(body))[0] == 200
