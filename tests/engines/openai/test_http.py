import contextlib
import gzip
import threading
import time
import tracemalloc
import zlib

import pytest
from helpers import chat_server as chat

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.engines.openai import http as chat_http
from handaxe.engines.openai.http import ChatHttp, RefusedError, Said

KEY = "sk-very-secret-key"


def asked(server, count):
    """Wait until the server has read so many requests; a client that gave up may be ahead of it."""
    for _ in range(6000):
        if len(server.bodies) >= count:
            break
        time.sleep(0.01)
    assert len(server.bodies) == count


@pytest.fixture
def chat_server():
    """Starts real servers that answer as told."""
    with contextlib.ExitStack() as stack:
        yield lambda *answers: stack.enter_context(chat.ChatServer(*answers))


@pytest.fixture
def serve(chat_server):
    """Start a server with these answers; the ChatHttp that talks to it, and the server."""
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


def test_a_request_and_its_answer(serve):
    http, server = serve((200, {"a": 1}))
    assert http.post({"b": "\u00e9"}) == {"a": 1}
    assert server.bodies == [{"b": "\u00e9"}]
    sent = server.headers[0]
    assert sent["authorization"] == f"Bearer {KEY}" and sent["x-team"] == "a"
    assert sent["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(
    "trouble",
    [(429, {}), (503, b"busy"), (500, {}), (408, {}), "cut", (200, b"{half"), (200, [1]), (200, b"[" * 100_000)],
)
def test_what_may_pass_is_tried_again(serve, trouble):
    http, server = serve(trouble, trouble, (200, {"a": 1}))
    assert http.post({}) == {"a": 1} and len(server.bodies) == 3


@pytest.mark.parametrize("answer", [b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", b'{"a":' * 400 + b"1" + b"}" * 400])
def test_an_answer_that_nests_too_deep_is_no_answer(serve, answer):
    http, _ = serve((200, answer), (200, {"a": 1}))
    assert http.post({}) == {"a": 1}


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_bomb_costs_no_more_than_twice_the_limit(serve, monkeypatch, pack):
    monkeypatch.setattr(chat_http, "MAX_BODY", 2**20)
    name = "gzip" if pack is gzip.compress else "deflate"
    http, _ = serve((200, pack(bytes(2**26)), {"content-encoding": name}), (200, {"a": 1}))
    tracemalloc.start()
    try:
        assert http.post({}) == {"a": 1}
        assert tracemalloc.get_traced_memory()[1] < 2 * 2**20
    finally:
        tracemalloc.stop()


def test_what_is_packed_otherwise_than_it_says_is_tried_again(serve):
    wrong = [(200, b"{}", {"content-encoding": name}) for name in ("gzip", "br")]
    http, server = serve(*wrong, (200, gzip.compress(b'{"a": 1}'), {"content-encoding": "gzip"}))
    assert http.post({}) == {"a": 1} and len(server.bodies) == 3
    assert server.headers[0]["accept-encoding"] == "gzip"


def test_after_the_last_attempt_it_says_what_happened(serve):
    http, server = serve((503, {"error": "overloaded"}))
    with pytest.raises(InfrastructureError, match=r"no answer in 3 attempts; the last one: HTTP 503: .*overloaded"):
        http.post({})
    assert len(server.bodies) == 3


@pytest.mark.parametrize("answer", ["hang", "drip"])
def test_a_server_that_never_finishes_is_given_up(serve, answer):
    http, server = serve(answer, timeout=0.3, attempts=2)
    with pytest.raises(InfrastructureError, match="no answer in 2 attempts"):
        http.post({})
    asked(server, 2)


def test_nobody_there():
    http = ChatHttp("http://127.0.0.1:9/", key="", headers={}, timeout=2, attempts=2, backoff=0)
    with pytest.raises(InfrastructureError, match="ConnectError"):
        http.post({})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_is_refused_is_not_tried_again(serve, status):
    http, server = serve((status, {"error": f"no, and your key is {KEY}"}))
    with pytest.raises(RefusedError) as refused:
        http.post({})
    assert refused.value.status == status and len(server.bodies) == 1
    assert "no, and your key is ***" in str(refused.value)


def test_the_key_is_cut_out_of_every_message(serve):
    http, _ = serve((503, {"error": KEY}))
    with pytest.raises(InfrastructureError) as error:
        http.post({})
    assert KEY not in str(error.value) and "***" in str(error.value)
    assert error.value.__cause__ is None


def test_headers_are_cut_out_too_and_a_short_dummy_key_cuts_out_nothing(chat_server):
    server = chat_server((400, {"error": "a team-of-secrets, sk: sk-very-secret-key? a" + " " * 3979 + KEY}))
    for key, headers in ((KEY, {"X-Team": "team-of-secrets"}), ("a", {})):
        http = ChatHttp(f"{server.url}/", key=key, headers=headers, timeout=20, attempts=1, backoff=0)
        with pytest.raises(RefusedError) as error:
            http.post({})
        assert ("a ***, sk: ***? a" in str(error.value)) == (key == KEY)
        assert ("a team-of-secrets" in str(error.value)) == (key == "a")
        http.close()


@pytest.mark.parametrize("headers", [{"X-Team": "a\nb"}, {"Host": "elsewhere"}, {"authorization": "Bearer other"}])
def test_headers_that_are_none(headers):
    with pytest.raises(InputError, match="header"):
        ChatHttp("http://127.0.0.1:9/", key=KEY, headers=headers, timeout=2, attempts=1, backoff=0)


def test_a_key_with_the_line_break_of_its_file_is_told_and_not_shown():
    with pytest.raises(InputError, match="strip it") as error:
        ChatHttp("http://127.0.0.1:9/", key=KEY + "\n", headers={}, timeout=2, attempts=1, backoff=0)
    assert KEY not in str(error.value)


def test_a_redirect_is_not_followed(serve, chat_server):
    elsewhere = chat_server((200, {"a": 1}))
    http, _ = serve((307, {}, {"location": elsewhere.url}))
    with pytest.raises(RefusedError, match=f"redirects to '{elsewhere.url}'"):
        http.post({})
    assert elsewhere.bodies == []


def test_retry_after_counts_more_than_the_backoff(serve):
    """A pause asked for is made; one that is closed meanwhile ends at once."""
    http, server = serve((429, {}, {"retry-after": "50"}))
    failed = []

    def ask():
        try:
            http.post({})
        except InfrastructureError as error:
            failed.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    asked(server, 1)
    thread.join(0.3)
    assert thread.is_alive() and len(server.bodies) == 1
    http.close()
    thread.join(20)
    assert "was closed" in failed[0]


def test_a_date_or_nonsense_as_retry_after(serve):
    http, _ = serve(
        (429, {}, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), (429, {}, {"retry-after": "nan"}), (200, {})
    )
    assert http.post({}) == {}


def test_an_answer_without_end_is_cut_off(serve, monkeypatch):
    monkeypatch.setattr("handaxe.engines.openai.http.MAX_BODY", 1000)
    http, _ = serve((200, b" " * 5000))
    with pytest.raises(InfrastructureError, match="more than 1000 bytes"):
        http.post({})


def test_reading_an_answer():
    call = {"function": {"name": "add", "arguments": "{oops"}}
    loose = {"function": {"name": "add", "arguments": {"a": 1}}}
    answer = {"choices": [{"message": {"content": None, "tool_calls": [call, loose]}, "finish_reason": "tool_calls"}]}
    assert Said.of(answer) == Said("", [("add", "{oops"), ("add", '{"a": 1}')], "stop")
    assert Said.of({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}).finish == "length"
    assert Said.of({"choices": [{"message": {"content": "a"}}]}) == Said("a", [], "stop")
    with pytest.raises(InfrastructureError, match="YOU SAID"):
        Said.of({"you said": 1}, hide=str.upper)


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
def test_what_is_no_chat_completion(answer):
    with pytest.raises(InfrastructureError, match="server's answer"):
        Said.of(answer)
