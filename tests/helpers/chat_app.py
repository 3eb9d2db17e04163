"""A chat server in a thread of the test, and plain requests to it. Needs starlette and uvicorn."""

import contextlib
import http.client
import json
import socket
import threading
import time

import uvicorn

from handaxe.serving.chat_server import chat_app
from handaxe.tools.bearer_auth import LocalOnly


@contextlib.contextmanager
def serving(engine, format, *, wrap=LocalOnly, **settings):
    """Run a server in a thread of this process and yield its port."""
    app = wrap(chat_app(engine, format, name="tiny", **settings))
    sock = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield sock.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def send(port, body, *, path="/v1/chat/completions", method="POST", headers=None):
    """Send one request; returns status and body of the response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    text = body if isinstance(body, bytes | type(None)) else json.dumps(body).encode()
    connection.request(method, path, text, {"Content-Type": "application/json", **(headers or {})})
    answer = connection.getresponse()
    response = answer.status, answer.read()
    connection.close()
    return response
