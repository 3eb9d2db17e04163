import contextlib

import pytest
from helpers import chat_server as chat

from handaxe.core.errors import InputError
from handaxe.tools.web.http_loop import HttpFailure, HttpLoop, check_address


@pytest.fixture
def fetch():
    """A function that sends a request to a server with one answer."""
    with contextlib.ExitStack() as stack:
        loop = HttpLoop(headers={"x-team": "a"})
        stack.callback(loop.close)

        def send(answer, *, timeout=20.0, limit=1000):
            server = stack.enter_context(chat.ChatServer(answer))
            found = loop.wait(
                loop.fetch("POST", server.url + "/x", json={"a": 1}, params={"b": "c"}, timeout=timeout, limit=limit)
            )
            return found, server

        yield send


def test_fetch_sends_the_request_and_returns_status_headers_and_body(fetch):
    found, server = fetch((404, b"gone", {"x-reason": "old"}))
    assert (found.status, found.headers["x-reason"], found.body) == (404, "old", b"gone")
    assert server.bodies == [{"a": 1}]
    assert server.headers[0]["path"] == "/v1/x?b=c" and server.headers[0]["x-team"] == "a"


@pytest.mark.parametrize("answer", ["hang", "drip", "drip headers"])
def test_deadline_covers_headers_and_body(fetch, answer):
    with pytest.raises(HttpFailure, match="not complete after 0.3 seconds"):
        fetch(answer, timeout=0.3)


def test_limit_bounds_the_body(fetch):
    assert fetch((200, b" " * 1000))[0].body == b" " * 1000
    with pytest.raises(HttpFailure, match="more than 1000 bytes"):
        fetch((200, b" " * 1001))


def test_broken_connections_fail(fetch):
    with pytest.raises(HttpFailure, match="RemoteProtocolError"):
        fetch("cut")


def test_check_address_refuses_other_addresses():
    check_address("https://host:1/v1")
    for url in ("host:8000", "ftp://host", "http://host:port"):
        with pytest.raises(InputError, match="is no server address"):
            check_address(url)
