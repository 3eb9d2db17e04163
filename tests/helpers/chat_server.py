"""A scripted chat server over real HTTP: `with ChatServer(answers) as server`."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def reply(content, calls=(), finish="stop", usage=(10, 20)):
    """Answer with a chat completion of this content and these calls."""
    made = [
        {"id": f"x{k}", "type": "function", "function": {"name": n, "arguments": a}} for k, (n, a) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    tokens = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return 200, {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": tokens}


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Ignore errors of disconnected clients."""


class ChatServer:
    """Answers the n-th request with the n-th of `answers`, further requests with the last.

    An answer is (status, body), (status, body, headers), a function from the request's body to an answer, or "cut" (the
    connection closes within the answer), "hang" (no answer), "drip" (an endless answer, byte by byte) or
    "drip headers" (endless headers, line by line).

    Attributes:
        bodies, headers: of the received requests.
        max_running: largest number of requests at the same time.
    """

    def __init__(self, *answers):
        self.answers, self.bodies, self.headers = list(answers), [], []
        self.max_running = self.running = 0
        self.lock, self.closed = threading.Lock(), threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}/v1"

    def __enter__(self):
        chat = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                with chat.lock:
                    chat.running += 1
                    chat.max_running = max(chat.max_running, chat.running)
                try:
                    chat.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with chat.lock:
                        chat.running -= 1

        self.http = _Quiet(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()  # a short wait at the end
        return self

    def __exit__(self, *error):
        self.closed.set()
        self.http.shutdown()
        self.http.server_close()

    def answer(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        with self.lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.headers.append({"path": handler.path, **{k.lower(): v for k, v in handler.headers.items()}})
        answer = self.answers[min(number, len(self.answers) - 1)]
        if callable(answer):
            answer = answer(body)
        if answer == "hang":
            self.closed.wait(60)
            handler.close_connection = True
            return
        if answer == "drip headers":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.closed.is_set():
                handler.wfile.write(b"x: y\r\n")
                time.sleep(0.02)
            return
        if answer in ("cut", "drip"):
            handler.send_response(200)
            handler.send_header("content-length", "1000")
            handler.end_headers()
            while answer == "drip" and not self.closed.is_set():
                handler.wfile.write(b" ")
                time.sleep(0.02)
            handler.close_connection = True
            return
        status, content, headers = (*answer, {})[:3]
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        for name, value in {"content-length": len(data), "content-type": "application/json", **headers}.items():
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(data)
