"""Serves a policy as chat completions, so that any client of that protocol can use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.requests import Completion, Sample
from handaxe.serving.batching_server import BatchingServer, Samples
from handaxe.serving.chat_history import ChatHistory
from handaxe.serving.openai_schema import ApiError, Reply, Request, chunk, read_request, whole
from handaxe.serving.streamed_turn import StreamedTurn
from handaxe.tools.bearer import Bearer, OnlyHere, check_door, check_token
from handaxe.tools.listening import listen

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.requests import Request as HttpRequest
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError as error:
    raise InputError("a chat server needs more packages: install them with pip install 'handaxe[serve]'") from error

__all__ = ["chat_app", "chat_server"]

LOGGER = logging.getLogger(__name__)
T = TypeVar("T")


def chat_server(
    engine: Samples,
    format: ChatFormat,
    *,
    name: str,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str = "",
    max_tokens: int = 1024,
) -> None:
    """Answer POST /v1/chat/completions and GET /v1/models until the program is stopped.

    Args:
        engine: samples; all requests share its batches.
        format: the one that the policy was trained with.
        name: of the model; a client that asks for another is refused.
        host, port: where to listen; port 0 takes a free one. Another host than localhost, 127.0.0.1 and ::1 needs a
            token. There is no TLS.
        token: what a client sends as its API key; "": whatever it sends will do.
        max_tokens: of an answer, where the client sets no limit.

    Raises:
        InputError: no token where one is needed, an invalid one, or an address where one cannot listen.
    """
    check_door(host, token)
    app: Any = chat_app(engine, format, name=name, max_tokens=max_tokens)
    app = Bearer(app, check_token(token)) if token else OnlyHere(app)
    with contextlib.closing(listen(host, port)) as listening:
        place = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"serving {name} at http://{place}:{listening.getsockname()[1]}/v1\n")
        sys.stderr.flush()
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2))
        server.run(sockets=[listening])


def chat_app(
    engine: Samples,
    format: ChatFormat,
    *,
    name: str,
    max_tokens: int = 1024,
    max_body: int = 8_000_000,
    max_waiting: int = 1000,
) -> Starlette:
    """The web app of `chat_server`, without its door.

    Args:
        engine, format, name, max_tokens: as of `chat_server`.
        max_body: most bytes of a request.
        max_waiting: most requests at a time; one more is told to come again.
    """
    desk = _Desk(engine, format, name, max_tokens=max_tokens, max_body=max_body, max_waiting=max_waiting)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", desk.answer, methods=["POST"]),
            Route("/v1/models", desk.models),
            Route("/v1/models/{model:path}", desk.models),
            Route("/health", desk.health),
        ],
        exception_handlers={ApiError: _told, HTTPException: _no_page, Exception: _failed},
        lifespan=desk.lifespan,
    )


class _Desk:
    """Turns requests into samples, and completions into answers. Formats are asked by one thread."""

    def __init__(
        self, engine: Samples, format: ChatFormat, name: str, *, max_tokens: int, max_body: int, max_waiting: int
    ):
        self.engine, self.format = engine, format
        self.name, self.max_tokens = name, max_tokens
        self.max_body, self.max_waiting = max_body, max_waiting
        self.history = ChatHistory(format)
        self.waiting = 0

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """The threads, for as long as the app lives."""
        del app
        self.desk, self.writer = BatchingServer(self.engine), ThreadPoolExecutor(1, thread_name_prefix="handaxe-format")
        try:
            yield
        finally:
            self.desk.close()
            self.writer.shutdown(wait=False, cancel_futures=True)

    async def health(self, http: HttpRequest) -> Response:
        """That it is there."""
        del http
        return JSONResponse({"status": "ok"})

    async def models(self, http: HttpRequest) -> Response:
        """The one model, or a refusal of any other."""
        about = {"id": self.name, "object": "model", "created": 0, "owned_by": "handaxe"}
        asked = http.path_params.get("model")
        if asked is None:
            return JSONResponse({"object": "list", "data": [about]})
        if asked != self.name:
            raise ApiError(
                404, f"there is no model {asked[:200]!r} here; this is {self.name!r}", code="model_not_found"
            )
        return JSONResponse(about)

    async def answer(self, http: HttpRequest) -> Response:
        """One request for a completion."""
        body = await _body(http, self.max_body)
        request = await self._write(lambda: read_request(body, model=self.name, max_tokens=self.max_tokens))
        if self.waiting + len(request.seeds) > self.max_waiting:
            raise ApiError(429, f"{self.waiting} requests are at work; come again later", code="rate_limit_exceeded")
        ids = await self._ids(request)
        samples = [
            Sample(ids, request.sampling, seed, self.format.stop_ids, self.format.header_ids) for seed in request.seeds
        ]
        request_id = f"chatcmpl-{secrets.token_hex(12)}"
        if request.stream:
            return StreamingResponse(self._stream(request_id, request, samples), media_type="text/event-stream")
        replies = await _unless_gone(http, asyncio.gather(*(self._reply(request, sample) for sample in samples)))
        return JSONResponse(whole(request_id, self.name, replies, len(ids)))

    async def _ids(self, request: Request) -> list[int]:
        try:
            ids = await self._write(lambda: self.history.ids(request.messages, request.tools))
        except InputError as error:
            raise ApiError(400, str(error), param="messages") from None
        if len(ids) >= self.engine.max_length:
            raise ApiError(
                400,
                f"the conversation has {len(ids)} tokens, and this model's maximum context length is "
                f"{self.engine.max_length}",
                param="messages",
                code="context_length_exceeded",
            )
        return ids

    async def _reply(self, request: Request, sample: Sample) -> Reply:
        """One choice."""
        turns = [turn async for turn in self._grow(request, sample)]
        return turns[-1].reply(logprobs=request.logprobs)

    async def _grow(self, request: Request, sample: Sample) -> AsyncIterator[StreamedTurn]:
        """A turn as it grows, where somebody looks; else once it is whole. What was said whole is remembered."""
        turn = StreamedTurn(self.format, request.tools, request.stop)
        self.waiting += 1
        try:
            watched = request.stream or request.stop
            steps = self.desk.steps(sample) if watched else _once(self.desk.complete(sample))
            async with contextlib.aclosing(steps):
                async for completion in steps:
                    await self._write(turn.take, completion)
                    if turn.stopped:
                        break
                    yield turn
            if turn.whole is not None and turn.ids[-1] in self.format.stop_ids:
                await self._write(self.history.keep, sample.ids, turn.whole, turn.ids)
            yield turn
        except InputError as error:
            raise ApiError(400, str(error)) from None
        finally:
            self.waiting -= 1

    async def _stream(self, request_id: str, request: Request, samples: Sequence[Sample]) -> AsyncIterator[str]:
        """The events of all choices, as they come."""
        events: asyncio.Queue[str | None] = asyncio.Queue()
        written = list[int]()

        async def tell(index: int, sample: Sample) -> None:
            try:
                events.put_nowait(chunk(request_id, self.name, index=index, delta={"role": "assistant", "content": ""}))
                async for turn in self._grow(request, sample):
                    if said := turn.news():
                        events.put_nowait(chunk(request_id, self.name, index=index, delta={"content": said}))
                reply = turn.reply()
                if said := turn.rest(reply):
                    events.put_nowait(chunk(request_id, self.name, index=index, delta={"content": said}))
                if calls := reply.message().get("tool_calls"):
                    delta = {"tool_calls": [{"index": k, **call} for k, call in enumerate(calls)]}
                    events.put_nowait(chunk(request_id, self.name, index=index, delta=delta))
                events.put_nowait(chunk(request_id, self.name, index=index, finish=reply.finish))
                written.append(reply.tokens)
            except ApiError as error:
                events.put_nowait(f"data: {json.dumps(error.body())}\n\n")
            except Exception:
                LOGGER.exception("a stream failed")
                events.put_nowait(f"data: {json.dumps(ApiError(500, 'the server failed').body())}\n\n")
            finally:
                events.put_nowait(None)

        tasks = [asyncio.create_task(tell(k, sample)) for k, sample in enumerate(samples)]
        try:
            left = len(tasks)
            while left:
                event = await events.get()
                left -= event is None
                if event is not None:
                    yield event
            if request.usage:
                yield chunk(request_id, self.name, usage=(len(samples[0].ids), sum(written)))
            yield "data: [DONE]\n\n"
        finally:
            for task in tasks:
                task.cancel()

    async def _write(self, call: Callable[..., T], *arguments: Any) -> T:
        """Ask the thread of the format; text that nests too deep is the client's."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.writer, call, *arguments)
        except RecursionError:
            raise ApiError(400, "something in the request nests too deep", param="messages") from None


async def _once(completion: Awaitable[Completion]) -> AsyncGenerator[Completion]:
    yield await completion


async def _unless_gone(http: HttpRequest, work: asyncio.Future[T]) -> T:
    """What the work gives; when the client goes first, the work is given up."""

    async def gone() -> None:
        while not await http.is_disconnected():
            await asyncio.sleep(0.5)

    watch = asyncio.ensure_future(gone())
    both: set[asyncio.Future[Any]] = {work, watch}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise ApiError(499, "the client is gone")
    finally:
        watch.cancel()
        work.cancel()


async def _body(http: HttpRequest, limit: int) -> bytes:
    """The body, never more of it than the limit."""
    found = bytearray()
    try:
        async for part in http.stream():
            found += part
            if len(found) > limit:
                raise ApiError(413, f"the body has more than {limit} bytes")
    except ClientDisconnect:
        raise ApiError(499, "the client is gone") from None
    return bytes(found)


async def _told(http: HttpRequest, error: Exception) -> Response:
    del http
    told = error if isinstance(error, ApiError) else ApiError(500, "the server failed")
    return JSONResponse(told.body(), told.status)


async def _no_page(http: HttpRequest, error: Exception) -> Response:
    del http
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse(ApiError(status, "there is POST /v1/chat/completions and GET /v1/models here").body(), status)


async def _failed(http: HttpRequest, error: Exception) -> Response:
    LOGGER.error("a request failed", exc_info=error)
    return await _told(http, error)
