"""Incomplete requests neither exhaust the connections of a server nor its files."""

import asyncio
import contextlib
import resource
import socket
import threading

import pytest

pytest.importorskip("uvicorn")

from handaxe.tools.http_server import MAX_CONNECTIONS, http_server

LIMIT = 8
HEAD = b"GET %s HTTP/1.1\r\nhost: x\r\n"


class Blocking:
    """App that answers a complete request: "/blocked" after `release`, and any other path at once."""

    def __init__(self):
        self.started, self.release = threading.Semaphore(0), threading.Event()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        event = await receive()
        while event.get("more_body"):
            event = await receive()
        if scope["path"] == "/blocked":
            self.started.release()
            while not self.release.is_set():
                await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"done"})


@pytest.fixture
def app():
    return Blocking()


@pytest.fixture
def port(app):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = http_server(app, max_connections=LIMIT)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        app.release.set()
        server.should_exit = True
        thread.join(timeout=30)


@contextlib.contextmanager
def connections(port, count, text):
    """Open `count` connections that have sent `text`."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(count)]
        for one in opened:
            with contextlib.suppress(OSError):  # already replaced
                one.sendall(text)
        yield opened


def response(connection):
    with contextlib.closing(connection.makefile("rb")) as file:
        status = file.readline()
        while file.readline().strip():
            pass
        return int(status.split()[1])


def closed(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("half", [b"", HEAD % b"/", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nab"])
def test_new_connection_replaces_the_one_that_waited_longest(port, half):
    with connections(port, 3 * LIMIT, half) as waiting, connections(port, 1, HEAD % b"/" + b"\r\n") as (honest,):
        assert response(honest) == 200
        assert all(closed(one) for one in waiting[: 2 * LIMIT])


def test_connections_with_running_requests_are_kept(app, port):
    with connections(port, LIMIT - 1, HEAD % b"/blocked" + b"\r\n") as running:
        for _ in running:
            assert app.started.acquire(timeout=30)
        with connections(port, 4 * LIMIT, HEAD % b"/"), connections(port, 1, HEAD % b"/" + b"\r\n") as (honest,):
            assert response(honest) == 200
            app.release.set()
            assert [response(one) for one in running] == [200] * (LIMIT - 1)


def test_requests_above_the_limit_get_status_503(app, port):
    with connections(port, LIMIT, HEAD % b"/blocked" + b"\r\n") as running:
        for _ in running:
            assert app.started.acquire(timeout=30)
        with connections(port, 1, HEAD % b"/" + b"\r\n") as (surplus,):
            assert response(surplus) == 503
        app.release.set()
        assert [response(one) for one in running] == [200] * LIMIT


def test_limit_follows_the_number_of_files_that_the_process_may_open(monkeypatch):
    for soft, limit in [(256, 128), (1024, 512), (1_000_000, MAX_CONNECTIONS), (resource.RLIM_INFINITY, 1000)]:
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert http_server(Blocking()).config.http.max_connections == limit
