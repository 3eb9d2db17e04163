"""A page to chat with a policy in a browser: text as it is sampled, calls before their execution, and replies.

    GET  /                    the page and its files, without data
    POST /api/ask {question}  JSON lines: text, calls, replies, then answer or error
    POST /api/new             ends the conversation

Requests to /api need the token of the address. The server answers this machine only, and no other origin.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from handaxe.chat.use import Assistant
from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.records import ParsedTurn
from handaxe.core.requests import EnvReply
from handaxe.tools.bearer_auth import BearerAuth, LocalOnly
from handaxe.tools.bind_socket import bind_socket
from handaxe.view.assets import page_file

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Mount, Route

    from handaxe.tools.http_server import http_server
    from handaxe.view.web import HEADERS, KINDS
except ImportError as error:
    raise InputError("the chat page needs more packages: install them with pip install 'handaxe[view]'") from error

__all__ = ["ChatEvents", "chat_page_app", "serve_chat"]

FILES = ("chat.html", "chat.js", "chat.css", "style.css", "text.js")
MAX_QUESTION = 1_000_000
"""Most bytes of a request."""


class ChatEvents:
    """Events of the current question, from the sampling thread to the request. `on_text` and `watch` are arguments of
    `chat.use.use`."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def on_text(self, text: str) -> None:
        """Report a piece of text."""
        self._queue.put({"text": text})

    def watch(self, turn: ParsedTurn, reply: EnvReply | None) -> None:
        """Report calls before execution, and replies afterwards."""
        if reply is None:
            calls = [{"name": call.name, "arguments": _json(call.arguments)} for call in turn.calls]
            self._queue.put({"calls": calls, "malformed": list(turn.errors), "whole": turn.text})
        else:
            self._queue.put({"replies": [{"status": one.status, "content": one.content} for one in reply.replies]})

    def put(self, event: dict[str, Any]) -> None:
        """Report another event."""
        self._queue.put(event)

    def get(self) -> dict[str, Any]:
        """Wait for the next event."""
        return self._queue.get()


def chat_page_app(assistant: Assistant, events: ChatEvents, *, title: str, token: str) -> Any:
    """Make the web app of one conversation.

    Args:
        assistant: made with `on_text` and `watch` of `events`.
        events: of the assistant.
        title: shown on the page.
        token: of requests to /api.
    """
    handlers = _Handlers(assistant, events, title)
    api = Starlette(
        routes=[Route("/ask", handlers.ask, methods=["POST"]), Route("/new", handlers.new, methods=["POST"])]
    )
    routes = [Route("/", _index), Route("/{name}", _file), Mount("/api", BearerAuth(api, token))]
    return LocalOnly(Starlette(routes=routes))


def serve_chat(
    assistant: Assistant, events: ChatEvents, *, title: str, port: int = 0, show: Callable[[str], None]
) -> None:
    """Serve until the process is stopped.

    Args:
        assistant, events, title: arguments of `chat_page_app`.
        port: of localhost; 0 chooses a free port.
        show: called with the address, which contains a new token, once the server listens.

    Raises:
        InputError: the port is in use.
    """
    token = secrets.token_urlsafe(32)
    app = chat_page_app(assistant, events, title=title, token=token)
    with contextlib.closing(bind_socket("127.0.0.1", port)) as listening:
        # A fragment stays in the browser: it is in no request and no log.
        show(f"http://localhost:{listening.getsockname()[1]}/#{token}")
        http_server(app, shutdown_seconds=1).run(sockets=[listening])


class _Handlers:
    """Requests of one conversation; a question at a time."""

    def __init__(self, assistant: Assistant, events: ChatEvents, title: str):
        self._assistant = assistant
        self._events = events
        self._title = title
        self._busy = threading.Lock()

    async def ask(self, request: Request) -> Response:
        """Answer a question as JSON lines."""
        body = await request.body()
        try:
            question = json.loads(body)["question"] if len(body) <= MAX_QUESTION else None
            str(question).encode()  # no half characters
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            question = None
        if not isinstance(question, str) or not question.strip():
            return _error(400, f"give a question, at most {MAX_QUESTION:,} bytes")
        if not self._busy.acquire(blocking=False):
            return _error(409, "a question is being answered: wait for its end")
        threading.Thread(target=self._answer, args=(question,), daemon=True).start()
        return StreamingResponse(self._lines(), media_type="application/x-ndjson", headers=HEADERS)

    async def new(self, request: Request) -> Response:
        """End the conversation; the answer has the title of the page."""
        del request
        if not self._busy.acquire(blocking=False):
            return _error(409, "a question is being answered: wait for its end")
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._assistant.new)
        finally:
            self._busy.release()
        return JSONResponse({"title": self._title}, headers=HEADERS)

    def _answer(self, question: str) -> None:
        try:
            done = self._assistant.more(question)
            kind, reason = done.ending.kind, done.ending.reason
            self._events.put({"answer": done.answer, "ending": kind, "reason": reason})
        except HandaxeError as error:
            self._events.put({"error": str(error)})
        except Exception as error:
            self._events.put({"error": f"{type(error).__name__}: {error}"})

    async def _lines(self) -> AsyncIterator[str]:
        """Yield events up to the last; the question stays busy until its last event, also without a reader."""
        loop = asyncio.get_running_loop()
        last = False
        try:
            while not last:
                event = await loop.run_in_executor(None, self._events.get)
                last = "answer" in event or "error" in event
                yield json.dumps(event) + "\n"
        finally:
            if last:
                self._busy.release()
            else:  # the reader left
                threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        while not {"answer", "error"} & self._events.get().keys():
            pass
        self._busy.release()


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


async def _index(request: Request) -> Response:
    del request
    return Response(page_file("chat.html"), media_type=KINDS[".html"], headers=HEADERS)


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return _error(404, "there is no such file")
    return Response(page_file(name), media_type=KINDS[Path(name).suffix], headers=HEADERS)


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status, headers=HEADERS)
