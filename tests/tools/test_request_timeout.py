import contextlib
import socket
import threading
import time

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from handaxe.tools.request_timeout import RequestTimeoutProtocol


class Quick(RequestTimeoutProtocol):
    seconds = 0.4


async def app(scope, receive, send):
    """Answers with how long the body was; "/slow" after a while."""
    length, more = 0, True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            return
        length, more = length + len(event["body"]), event["more_body"]
    if scope["path"] == "/slow":
        import asyncio

        await asyncio.sleep(2 * Quick.seconds)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"%04d" % length})


@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="critical", http=Quick, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(timeout=30)


def answers(connection, text):
    connection.sendall(text)
    data = b""
    while not data.endswith((b"0000", b"0003")):
        piece = connection.recv(4096)
        if not piece:
            break
        data += piece
    return data


HEAD = b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "half", [b"", b"GET / HT", HEAD % b"/", HEAD % b"/" + b"ab", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" + b"GET /"]
)
def test_incomplete_request_is_disconnected(port, half):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(half)
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(4096):
                pass


def test_slow_request_is_disconnected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, pytest.raises(OSError):
        for byte in b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)


def test_complete_request_is_answered_after_any_time(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for path in (b"/", b"/slow", b"/"):
            assert answers(connection, HEAD % path + b"abc").endswith(b"0003")
