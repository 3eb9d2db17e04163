"""Chat completions server: serve a policy to any client of the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import secrets
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, shows_images
from handaxe.core.requests import Completion, Sample
from handaxe.models.chat_formats.safe_encoder import TooManyIds
from handaxe.serving.batching_server import BatchingServer, StreamingEngine
from handaxe.serving.chat_history import ChatHistory
from handaxe.serving.format_threads import FormatThreads
from handaxe.serving.openai_schema import ApiError, ChatRequest, Choice, completion_body, completion_chunk, read_request
from handaxe.serving.streamed_turn import StreamedTurn
from handaxe.tools.bearer_auth import BearerAuth, LocalOnly, check_token, require_token
from handaxe.tools.bind_socket import bind_socket

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.requests import Request as HttpRequest
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    from handaxe.tools.http_server import http_server
except ImportError as error:
    raise InputError("a chat server needs further packages: install them with pip install 'handaxe[serve]'") from error

__all__ = ["chat_app", "chat_server"]

LOGGER = logging.getLogger(__name__)
BASE_BODY, MAX_BODY = 200_000, 2_000_000
"""Bytes of a request without messages, and of any request. Parsing JSON stops all Python threads."""
IMAGE_BODY = 6_000_000
"""Further bytes of a request, if the model shows images."""
BODY_PER_TOKEN = 32
SWITCH_SECONDS = 0.001
"""Time after which a thread lets another one run: a fifth of Python's default, for short waits beside long requests."""
T = TypeVar("T")
Run = Callable[..., Awaitable[Any]]
"""Runs a call in a thread for one request."""


def chat_server(
    engine: StreamingEngine,
    format: ChatFormat,
    *,
    name: str,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str = "",
    max_tokens: int = 1024,
) -> None:
    """Serve POST /v1/chat/completions and GET /v1/models until the program is stopped.

    Args:
        engine: sampled by all requests together, in shared batches.
        format: chat format that the policy was trained with; called from several threads.
        name: of the model; requests for another model are refused.
        host, port: address to listen at; port 0 selects a free port. Hosts other than localhost, 127.0.0.1 and ::1 need
            a token. There is no TLS.
        token: API key required from clients; "" accepts any key.
        max_tokens: token limit of an answer, if the client sets none.

    Raises:
        InputError: a required token is missing, a token is invalid, or the address cannot be used.
    """
    require_token(host, token)
    app: Any = chat_app(engine, format, name=name, max_tokens=max_tokens)
    app = BearerAuth(app, check_token(token)) if token else LocalOnly(app)
    with contextlib.closing(bind_socket(host, port)) as sock:
        address = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"serving {name} at http://{address}:{sock.getsockname()[1]}/v1\n")
        sys.stderr.flush()
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.freeze()  # a full collection would otherwise visit all objects of torch, and stop all threads meanwhile
        http_server(app).run(sockets=[sock])


def chat_app(
    engine: StreamingEngine,
    format: ChatFormat,
    *,
    name: str,
    max_tokens: int = 1024,
    max_body: int | None = None,
    max_waiting: int = 1000,
) -> Starlette:
    """The web app of `chat_server`, without access control.

    Args:
        engine, format, name, max_tokens: as in `chat_server`.
        max_body: most bytes of a request; None: 200,000, and 32 for each token of the model's context length, at most
            2,000,000; 6,000,000 more if the format shows images.
        max_waiting: most requests at a time; further requests get status 429.
    """
    usual = min(BASE_BODY + BODY_PER_TOKEN * engine.max_length, MAX_BODY)
    max_body = max_body or usual + IMAGE_BODY * shows_images(format)
    handlers = _Handlers(engine, format, name, max_tokens=max_tokens, max_body=max_body, max_waiting=max_waiting)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", handlers.complete, methods=["POST"]),
            Route("/v1/models", handlers.models),
            Route("/v1/models/{model:path}", handlers.models),
            Route("/health", handlers.health),
        ],
        exception_handlers={ApiError: _error_response, HTTPException: _unknown_route, Exception: _server_error},
        lifespan=handlers.lifespan,
    )


class _Handlers:
    """Request handlers. The chat format runs in `FormatThreads`."""

    def __init__(
        self,
        engine: StreamingEngine,
        format: ChatFormat,
        name: str,
        *,
        max_tokens: int,
        max_body: int,
        max_waiting: int,
    ):
        self.engine, self.format = engine, format
        self.name, self.max_tokens = name, max_tokens
        self.max_body, self.max_waiting = max_body, max_waiting
        self.images = shows_images(format)
        self.history = ChatHistory(format, max_length=engine.max_length)
        self.running = 0

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Start and end the threads with the app."""
        del app
        self.sampler = BatchingServer(self.engine)
        self.threads = FormatThreads()
        try:
            yield
        finally:
            self.sampler.close()
            self.threads.close()

    async def health(self, http: HttpRequest) -> Response:
        """GET /health."""
        del http
        return JSONResponse({"status": "ok"})

    async def models(self, http: HttpRequest) -> Response:
        """GET /v1/models and /v1/models/MODEL."""
        served = {"id": self.name, "object": "model", "created": 0, "owned_by": "handaxe"}
        model = http.path_params.get("model")
        if model is None:
            return JSONResponse({"object": "list", "data": [served]})
        if model != self.name:
            raise ApiError(
                404, f"there is no model {model[:200]!r}; this server has {self.name!r}", code="model_not_found"
            )
        return JSONResponse(served)

    async def complete(self, http: HttpRequest) -> Response:
        """POST /v1/chat/completions."""
        body = await _body(http, self.max_body)
        run = partial(self._in_format_thread, len(body))
        request = await run(lambda: read_request(body, model=self.name, max_tokens=self.max_tokens, images=self.images))
        if self.running + len(request.seeds) > self.max_waiting:
            raise ApiError(429, f"{self.running} requests are running; retry later", code="rate_limit_exceeded")
        ids = await _until_disconnect(http, asyncio.ensure_future(self._ids(request, run)))
        stop, header = self.format.stop_ids, self.format.header_ids
        first = Sample(ids, request.sampling, 0, stop, header, images=request.images, top=request.top_logprobs)
        samples = [first._replace(seed=seed) for seed in request.seeds]
        request_id = f"chatcmpl-{secrets.token_hex(12)}"
        if request.stream:
            return StreamingResponse(self._stream(request_id, request, samples, run), media_type="text/event-stream")
        work = asyncio.gather(*(self._choice(request, sample, run) for sample in samples))
        choices = await _until_disconnect(http, work)
        return await run(lambda: JSONResponse(completion_body(request_id, self.name, choices, len(ids))))

    async def _ids(self, request: ChatRequest, run: Run) -> list[int]:
        if len(request.messages) >= self.engine.max_length:  # a message has at least one token
            raise _above_context(f"at least {len(request.messages)}", self.engine.max_length)
        steps = self.history.steps(request.messages, request.tools)
        ids = None
        try:
            while ids is None:
                ids = await run(next, steps)
        except TooManyIds as error:
            raise _above_context(f"at least {error.count}", self.engine.max_length) from None
        except InputError as error:
            raise ApiError(400, str(error), param="messages") from None
        if len(ids) >= self.engine.max_length:
            raise _above_context(str(len(ids)), self.engine.max_length)
        return ids

    async def _choice(self, request: ChatRequest, sample: Sample, run: Run) -> Choice:
        """Sample one choice."""
        turns = [turn async for turn in self._sample(request, sample, run)]
        return await run(lambda: turns[-1].choice(logprobs=request.logprobs))

    async def _sample(self, request: ChatRequest, sample: Sample, run: Run) -> AsyncIterator[StreamedTurn]:
        """Sample a turn. Yields the turn repeatedly for a stream or stop strings, else once at the end. Complete turns
        enter the history."""
        turn = StreamedTurn(self.format, request.tools, request.stop)
        self.running += 1
        try:
            incremental = request.stream or request.stop
            steps = self.sampler.steps(sample) if incremental else _single(self.sampler.complete(sample))
            async with contextlib.aclosing(steps):
                async for completion in steps:
                    if request.top_logprobs and len(completion.top) < len(completion.ids):
                        message = "this server's engine reports no alternatives: leave top_logprobs out"
                        raise ApiError(400, message, param="top_logprobs")
                    await run(turn.update, completion)
                    if turn.stopped:
                        break
                    yield turn
            if turn.message is not None and turn.ids[-1] in self.format.stop_ids:
                await run(self.history.add, sample.ids, turn.message, turn.ids)
            yield turn
        except InputError as error:
            raise ApiError(400, str(error)) from None
        finally:
            self.running -= 1

    async def _stream(
        self, request_id: str, request: ChatRequest, samples: Sequence[Sample], run: Run
    ) -> AsyncIterator[str]:
        """Stream the events of all choices."""
        events: asyncio.Queue[str | None] = asyncio.Queue()
        completion_tokens = list[int]()

        async def stream_choice(index: int, sample: Sample) -> None:
            def put(delta: dict[str, Any] | None = None, *, finish: str | None = None) -> None:
                events.put_nowait(completion_chunk(request_id, self.name, index=index, delta=delta, finish=finish))

            try:
                put({"role": "assistant", "content": ""})
                async for turn in self._sample(request, sample, run):
                    if text := turn.new_text():
                        put({"content": text})
                choice = await run(turn.choice)
                if text := turn.remaining_text(choice):
                    put({"content": text})
                if calls := choice.message().get("tool_calls"):
                    put({"tool_calls": [{"index": k, **call} for k, call in enumerate(calls)]})
                put(finish=choice.finish)
                completion_tokens.append(choice.tokens)
            except ApiError as error:
                events.put_nowait(f"data: {json.dumps(error.body())}\n\n")
            except Exception:
                LOGGER.exception("a stream failed")
                events.put_nowait(f"data: {json.dumps(ApiError(500, 'the server failed').body())}\n\n")
            finally:
                events.put_nowait(None)

        tasks = [asyncio.create_task(stream_choice(k, sample)) for k, sample in enumerate(samples)]
        try:
            remaining = len(tasks)
            while remaining:
                event = await events.get()
                remaining -= event is None
                if event is not None:
                    yield event
            if request.usage:
                usage = (len(samples[0].ids), sum(completion_tokens))
                yield completion_chunk(request_id, self.name, usage=usage)
            yield "data: [DONE]\n\n"
        finally:
            for task in tasks:
                task.cancel()

    async def _in_format_thread(self, size: int, call: Callable[..., T], *arguments: Any) -> T:
        """Run a call in a thread, for a body of `size` bytes; a RecursionError is an error of the request."""
        try:
            return await self.threads.run(size, call, *arguments)
        except RecursionError:
            raise ApiError(400, "the request nests too deep", param="messages") from None


def _above_context(count: str, longest: int) -> ApiError:
    message = f"the conversation has {count} tokens, and this model's maximum context length is {longest}"
    return ApiError(400, message, param="messages", code="context_length_exceeded")


async def _single(completion: Awaitable[Completion]) -> AsyncGenerator[Completion]:
    yield await completion


async def _until_disconnect(http: HttpRequest, work: asyncio.Future[T]) -> T:
    """Await work; if the client disconnects first, cancel it and raise ApiError."""

    async def disconnected() -> None:
        while not await http.is_disconnected():
            await asyncio.sleep(0.5)

    watch = asyncio.ensure_future(disconnected())
    both: set[asyncio.Future[Any]] = {work, watch}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise ApiError(499, "the client disconnected")
    finally:
        watch.cancel()
        work.cancel()


async def _body(http: HttpRequest, limit: int) -> bytes:
    """Read the body, at most `limit` bytes."""
    body = bytearray()
    try:
        async for part in http.stream():
            body += part
            if len(body) > limit:
                raise ApiError(413, f"the body has more than {limit} bytes")
    except ClientDisconnect:
        raise ApiError(499, "the client disconnected") from None
    return bytes(body)


async def _error_response(http: HttpRequest, error: Exception) -> Response:
    del http
    shown = error if isinstance(error, ApiError) else ApiError(500, "the server failed")
    return JSONResponse(shown.body(), shown.status)


async def _unknown_route(http: HttpRequest, error: Exception) -> Response:
    del http
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = "this server has POST /v1/chat/completions and GET /v1/models"
    return JSONResponse(ApiError(status, message).body(), status)


async def _server_error(http: HttpRequest, error: Exception) -> Response:
    LOGGER.error("a request failed", exc_info=error)
    return await _error_response(http, error)
