"""Requests of the chat page: events of an answer, the token, foreign hosts, invalid questions."""

import json
import urllib.error
import urllib.request

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
from helpers.chat_page import HOSTILE, TOKEN, chat_page


@pytest.fixture(scope="module")
def address():
    with chat_page() as found:
        yield found


def request(address, path, body=None, token=TOKEN, **headers):
    """Status and body of a request."""
    headers = {"authorization": f"Bearer {token}", **headers} if token else headers
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(address + path, data, headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as reply:
            return reply.status, reply.read().decode(), reply.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def test_answer_is_a_sequence_of_events(address):
    request(address, "api/new", {})
    status, text, headers = request(address, "api/ask", {"question": "12*34=?"})
    events = [json.loads(line) for line in text.splitlines()]
    assert status == 200 and headers["content-type"] == "application/x-ndjson"
    calls = next(place for place, one in enumerate(events) if "calls" in one)
    replies = next(place for place, one in enumerate(events) if "replies" in one)
    assert calls < replies and events[calls]["calls"] == [
        {"name": "calculator", "arguments": '{"expression": "12*34"}'}
    ]
    assert events[replies]["replies"] == [{"status": "ok", "content": HOSTILE}]
    assert events[-1].keys() == {"answer", "ending", "reason"}


@pytest.mark.parametrize("path", ["api/ask", "api/new"])
@pytest.mark.parametrize("token", ["", "a-wrong-token-of-letters"])
def test_api_needs_the_token(address, path, token):
    assert request(address, path, {"question": "1"}, token=token)[0] == 401


def test_foreign_host_and_origin_are_refused(address):
    assert request(address, "", None, host="evil.example")[0] == 421
    assert request(address, "api/new", {}, origin="https://evil.example")[0] == 403


@pytest.mark.parametrize(
    "body", [{}, {"question": ""}, {"question": 3}, [], {"question": "\ud800"}, {"question": "x" * 1_000_001}]
)
def test_invalid_question_gets_status_400(address, body):
    status, text, _ = request(address, "api/ask", body)
    assert status == 400 and "give a question" in text


def test_unknown_files_are_not_served(address):
    for name in ("web_page.py", "main.js", "..%2fweb_page.py"):
        assert request(address, name)[0] == 404
    status, _, headers = request(address, "chat.js")
    assert status == 200 and "script-src 'self'" in headers["content-security-policy"]


def test_failed_question_is_an_error_event(address):
    request(address, "api/new", {})
    _, text, _ = request(address, "api/ask", {"question": "x" * 5000})
    last = json.loads(text.splitlines()[-1])
    assert last.get("error") or last["ending"] == "truncated"
    assert request(address, "api/ask", {"question": "12*34=?"})[0] == 200, "the next question is answered"
