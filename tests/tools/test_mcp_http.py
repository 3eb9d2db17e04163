import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.tools.mcp import mcp


class _Handler(BaseHTTPRequestHandler):
    """Answers with the result of the server's `answer(path, message)`: (status, headers, body)."""

    def log_message(self, *args):
        pass

    def sent(self):
        return {name.lower(): value for name, value in self.headers.items()}

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, self.sent(), message.get("method")))
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
        self.server.seen.append((self.path, self.sent(), "DELETE"))
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
    """Answer as a server with one tool and a session id."""
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
    from handaxe.core.records import ToolCall

    reply = tools[0].run(ToolCall("ping", {}, "c0"))
    return reply.status, reply.content


def test_headers_and_session_id_are_sent_and_the_session_ends():
    with serving(polite) as (server, url):
        tools = mcp(url=url, headers={"Authorization": "Bearer abc"})()
        assert ping(tools) == ("ok", "pong")
        tools[0].owner.close()
        assert all(headers.get("authorization") == "Bearer abc" for _, headers, _ in server.seen)
        (called,) = [headers for _, headers, method in server.seen if method == "tools/call"]
        assert called["mcp-session-id"] == "s1"
        assert server.seen[-1][2] == "DELETE"


@pytest.mark.parametrize("place", ["result", "retry", "internal", "shape", "initialize"])
def test_repeated_header_is_redacted(place):
    secret = "s3cret-0123456789"

    def telling(message):
        status, headers, body = polite(message, text=f"you sent {secret}")
        answer = json.loads(body or b"{}")
        if message.get("method") == ("initialize" if place == "initialize" else "tools/call") and place != "result":
            codes = {"retry": -32602, "internal": -32603, "initialize": -32603}
            del answer["result"]
            if place == "shape":
                answer["result"] = {"content": secret}
            else:
                answer["error"] = {"code": codes[place], "message": f"you sent {secret}"}
        return status, headers, json.dumps(answer).encode() if body else body

    with serving(telling) as (_, url):
        factory = mcp(url=url, headers={"Authorization": f"Bearer {secret}"}, timeout=20.0)
        if place == "initialize":
            with pytest.raises(InfrastructureError, match=r"you sent \*\*\*") as error:
                factory()
            assert secret not in str(error.value)
            return
        tools = factory()
        status, content = ping(tools)
        tools[0].owner.close()
    assert status == {"result": "ok", "retry": "retry"}.get(place, "infra_error")
    assert secret not in content and "***" in content


def test_redirect_to_another_host_is_not_followed():
    with serving(polite) as (elsewhere, other), serving(lambda m: (307, {"location": other}, b"")) as (_, url):
        with pytest.raises(InfrastructureError, match="gives no session"):
            mcp(url=url, headers={"Authorization": "Bearer abc"}, startup=10.0)()
        assert elsewhere.seen == []


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_reported(status):
    with serving(lambda message: (status, {}, b"")) as (_, url):
        with pytest.raises(InfrastructureError, match=f"HTTP {status}: the server refuses the credentials") as error:
            mcp(url=url, headers={"Authorization": "Bearer s3cret"}, startup=20.0)()
        assert "s3cret" not in str(error.value)


def test_expired_credentials_end_the_session():
    def strict(message):
        return (401, {}, b"{}") if message.get("method") == "tools/call" else polite(message)

    with serving(strict) as (_, url):
        tools = mcp(url=url, timeout=20.0)()
        assert ping(tools)[0] == "infra_error" and "has ended" in ping(tools)[1]
        tools[0].owner.close()


def test_oversized_message_ends_the_session(monkeypatch):
    monkeypatch.setattr("handaxe.tools.mcp_http.MAX_BODY", 10_000)
    with serving(lambda message: polite(message, text="x" * 20_000)) as (_, url):
        tools = mcp(url=url, timeout=20.0)()
        assert ping(tools)[0] == "infra_error"
        tools[0].owner.close()


def test_forgotten_session_is_infra_error():
    def forgetful(message):
        return (404, {}, b"{}") if message.get("method") == "tools/call" else polite(message)

    with serving(forgetful) as (_, url):
        tools = mcp(url=url, timeout=20.0)()
        assert ping(tools)[0] == "infra_error"
        tools[0].owner.close()
