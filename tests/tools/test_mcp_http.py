import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from handaxe.errors import InfrastructureError
from handaxe.tools.mcp import mcp


class _Handler(BaseHTTPRequestHandler):
    """Answers by hand, as the server's `answer(path, message)` says: (status, headers, body)."""

    def log_message(self, *args):
        pass

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, dict(self.headers.items()), message.get("method")))
        status, headers, body = self.server.answer(message)
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def do_GET(self):
        self.send_error(405)

    def do_DELETE(self):
        self.server.seen.append((self.path, dict(self.headers.items()), "DELETE"))
        self.send_response(204)
        self.end_headers()


@contextlib.contextmanager
def serving(answer):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.answer, server.seen, server.daemon_threads = answer, [], True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


def polite(message, *, text="pong"):
    """A server with one tool and a session id."""
    if "id" not in message:
        return 202, {}, b""
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "serverInfo": {"name": "a", "version": "0"},
        },
        "tools/list": {"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": text}]},
    }
    body = {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
    return 200, {"mcp-session-id": "s1"}, json.dumps(body).encode()


def ping(tools):
    from handaxe.records import ToolCall

    reply = tools[0].run(ToolCall("ping", {}, "c0"))
    return reply.status, reply.content


def test_headers_and_the_session_id_are_sent_and_the_session_is_ended():
    with serving(polite) as (server, url):
        tools = mcp(url=url, headers={"Authorization": "Bearer abc"})()
        assert ping(tools) == ("ok", "pong")
        tools[0].owner.close()
        assert all(headers.get("Authorization") == "Bearer abc" for _, headers, _ in server.seen)
        (called,) = [headers for _, headers, method in server.seen if method == "tools/call"]
        assert {name.lower(): value for name, value in called.items()}["mcp-session-id"] == "s1"
        assert server.seen[-1][2] == "DELETE"


def test_a_redirect_to_another_host_is_not_followed():
    with serving(polite) as (elsewhere, other), serving(lambda m: (307, {"location": other}, b"")) as (_, url):
        with pytest.raises(InfrastructureError, match="gives no session"):
            mcp(url=url, headers={"Authorization": "Bearer abc"}, startup=10.0)()
        assert elsewhere.seen == []


def test_a_message_that_is_too_long_breaks_the_session(monkeypatch):
    monkeypatch.setattr("handaxe.tools.mcp_http.MAX_BODY", 10_000)
    with serving(lambda message: polite(message, text="x" * 20_000)) as (_, url):
        tools = mcp(url=url, timeout=20.0)()
        assert ping(tools)[0] == "infra_error"
        tools[0].owner.close()


def test_a_server_that_forgot_the_session_is_an_infra_error():
    def forgetful(message):
        return (404, {}, b"{}") if message.get("method") == "tools/call" else polite(message)

    with serving(forgetful) as (_, url):
        tools = mcp(url=url, timeout=20.0)()
        assert ping(tools)[0] == "infra_error"
        tools[0].owner.close()
