import contextlib
import gzip
import threading
import time
import tracemalloc
import zlib

import pytest
from helpers import chat_server as chat

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.engines.openai import chat_http
from handaxe.engines.openai.chat_http import ChatHttp, ChatReply, RefusedError

KEY = "sk-very-secret-key"


def wait_for_requests(server, count):
    """Wait until the server has read `count` requests; a client that timed out may be ahead of the server."""
    for _ in range(6000):
        if len(server.bodies) >= count:
            break
        time.sleep(0.01)
    assert len(server.bodies) == count


@pytest.fixture
def chat_server():
    """A function that starts scripted servers."""
    with contextlib.ExitStack() as stack:
        yield lambda *answers: stack.enter_context(chat.ChatServer(*answers))


@pytest.fixture
def serve(chat_server):
    """A function that starts a server with these answers; returns its client and the server."""
    made = []

    def start(*answers, attempts=3, timeout=20.0, backoff=0.001):
        server = chat_server(*answers)
        url = f"{server.url}/chat/completions"
        made.append(
            ChatHttp(url, key=KEY, headers={"X-Team": "a"}, timeout=timeout, attempts=attempts, backoff=backoff)
        )
        return made[-1], server

    yield start
    for http in made:
        http.close()


def test_post_sends_json_and_headers_and_returns_the_answer(serve):
    http, server = serve((200, {"a": 1}))
    assert http.post({"b": "\u00e9"}) == {"a": 1}
    assert server.bodies == [{"b": "\u00e9"}]
    headers = server.headers[0]
    assert headers["authorization"] == f"Bearer {KEY}" and headers["x-team"] == "a"
    assert headers["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(
    "failure",
    [(429, {}), (503, b"busy"), (500, {}), (408, {}), "cut", (200, b"{half"), (200, [1]), (200, b"[" * 100_000)],
)
def test_temporary_failures_are_retried(serve, failure):
    http, server = serve(failure, failure, (200, {"a": 1}))
    assert http.post({}) == {"a": 1} and len(server.bodies) == 3


@pytest.mark.parametrize("answer", [b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", b'{"a":' * 400 + b"1" + b"}" * 400])
def test_deeply_nested_answer_is_retried(serve, answer):
    http, _ = serve((200, answer), (200, {"a": 1}))
    assert http.post({}) == {"a": 1}


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_decompression_bomb_stays_within_twice_the_limit(serve, monkeypatch, pack):
    monkeypatch.setattr(chat_http, "MAX_BODY", 2**20)
    name = "gzip" if pack is gzip.compress else "deflate"
    http, _ = serve((200, pack(bytes(2**26)), {"content-encoding": name}), (200, {"a": 1}))
    tracemalloc.start()
    try:
        assert http.post({}) == {"a": 1}
        assert tracemalloc.get_traced_memory()[1] < 2 * 2**20
    finally:
        tracemalloc.stop()


def test_wrong_content_encoding_is_retried(serve):
    wrong = [(200, b"{}", {"content-encoding": name}) for name in ("gzip", "br")]
    http, server = serve(*wrong, (200, gzip.compress(b'{"a": 1}'), {"content-encoding": "gzip"}))
    assert http.post({}) == {"a": 1} and len(server.bodies) == 3
    assert server.headers[0]["accept-encoding"] == "gzip"


def test_error_after_the_last_attempt_names_the_last_failure(serve):
    http, server = serve((503, {"error": "overloaded"}))
    with pytest.raises(InfrastructureError, match=r"no answer in 3 attempts; the last one: HTTP 503: .*overloaded"):
        http.post({})
    assert len(server.bodies) == 3


@pytest.mark.parametrize("answer", ["hang", "drip", "drip headers"])
def test_endless_answer_times_out(serve, answer):
    http, server = serve(answer, timeout=0.3, attempts=2)
    with pytest.raises(InfrastructureError, match="no answer in 2 attempts"):
        http.post({})
    wait_for_requests(server, 2)


def test_connection_error_is_named():
    http = ChatHttp("http://127.0.0.1:9/", key="", headers={}, timeout=2, attempts=2, backoff=0)
    with pytest.raises(InfrastructureError, match="ConnectError"):
        http.post({})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_refused_request_is_not_retried(serve, status):
    http, server = serve((status, {"error": f"no, and your key is {KEY}"}))
    with pytest.raises(RefusedError) as refused:
        http.post({})
    assert refused.value.status == status and len(server.bodies) == 1
    assert "no, and your key is ***" in str(refused.value)


def test_error_messages_hide_the_key(serve):
    http, _ = serve((503, {"error": KEY}))
    with pytest.raises(InfrastructureError) as error:
        http.post({})
    assert KEY not in str(error.value) and "***" in str(error.value)
    assert error.value.__cause__ is None


def test_error_messages_hide_headers_but_no_short_dummy_key(chat_server):
    server = chat_server((400, {"error": "a team-of-secrets, sk: sk-very-secret-key? a" + " " * 3979 + KEY}))
    for key, headers in ((KEY, {"X-Team": "team-of-secrets"}), ("a", {})):
        http = ChatHttp(f"{server.url}/", key=key, headers=headers, timeout=20, attempts=1, backoff=0)
        with pytest.raises(RefusedError) as error:
            http.post({})
        assert ("a ***, sk: ***? a" in str(error.value)) == (key == KEY)
        assert ("a team-of-secrets" in str(error.value)) == (key == "a")
        http.close()


@pytest.mark.parametrize("headers", [{"X-Team": "a\nb"}, {"Host": "elsewhere"}, {"authorization": "Bearer other"}])
def test_invalid_headers_raise(headers):
    with pytest.raises(InputError, match="header"):
        ChatHttp("http://127.0.0.1:9/", key=KEY, headers=headers, timeout=2, attempts=1, backoff=0)


def test_key_with_line_break_raises_without_showing_the_key():
    with pytest.raises(InputError, match="strip it") as error:
        ChatHttp("http://127.0.0.1:9/", key=KEY + "\n", headers={}, timeout=2, attempts=1, backoff=0)
    assert KEY not in str(error.value)


def test_redirect_is_not_followed(serve, chat_server):
    elsewhere = chat_server((200, {"a": 1}))
    http, _ = serve((307, {}, {"location": elsewhere.url}))
    with pytest.raises(RefusedError, match=f"redirects to '{elsewhere.url}'"):
        http.post({})
    assert elsewhere.bodies == []


def test_retry_after_takes_precedence_over_the_backoff(serve):
    """The client pauses as long as the server requests; `close` ends the pause."""
    http, server = serve((429, {}, {"retry-after": "50"}))
    failed = []

    def post():
        try:
            http.post({})
        except InfrastructureError as error:
            failed.append(str(error))

    thread = threading.Thread(target=post)
    thread.start()
    wait_for_requests(server, 1)
    thread.join(0.3)
    assert thread.is_alive() and len(server.bodies) == 1
    http.close()
    thread.join(20)
    assert "was closed" in failed[0]


def test_invalid_retry_after_is_ignored(serve):
    http, _ = serve(
        (429, {}, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), (429, {}, {"retry-after": "nan"}), (200, {})
    )
    assert http.post({}) == {}


def test_answer_above_the_size_limit_fails(serve, monkeypatch):
    monkeypatch.setattr("handaxe.engines.openai.chat_http.MAX_BODY", 1000)
    http, _ = serve((200, b" " * 5000))
    with pytest.raises(InfrastructureError, match="more than 1000 bytes"):
        http.post({})


def test_parse_reads_text_calls_and_finish_reason():
    call = {"function": {"name": "add", "arguments": "{oops"}}
    loose = {"function": {"name": "add", "arguments": {"a": 1}}}
    answer = {"choices": [{"message": {"content": None, "tool_calls": [call, loose]}, "finish_reason": "tool_calls"}]}
    assert ChatReply.parse(answer) == ChatReply("", [("add", "{oops"), ("add", '{"a": 1}')], "stop")
    assert ChatReply.parse({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}).finish == "length"
    assert ChatReply.parse({"choices": [{"message": {"content": "a"}}]}) == ChatReply("a", [], "stop")
    with pytest.raises(InfrastructureError, match="NO CHOICES"):
        ChatReply.parse({"no choices": 1}, hide=str.upper)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": [1]}}]},
        {"choices": [{"message": {"content": "", "tool_calls": [{}]}}]},
    ],
)
def test_parse_refuses_invalid_chat_completions(answer):
    with pytest.raises(InfrastructureError, match="server's answer"):
        ChatReply.parse(answer)
