"""HTTP client of one vLLM server; every call has a deadline.

    POST /inference/v1/generate        ids in, ids out, unstreamed      POST /pause, /resume
    POST /inference/v1/abort_requests                                   POST /start_, /update_, /finish_weight_update
    GET  /health, /weight_info

`engines.vllm.generate_request` writes and reads sampling requests, `engines.vllm.image_prompt` their images.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.requests import Sample
from handaxe.engines.vllm.generate_request import (
    Generated,
    UnusableAnswerError,
    answer_limit,
    generate_body,
    read_generated,
    read_prompt_ids,
)
from handaxe.engines.vllm.image_prompt import ImagePrompt, SentImages, check_prompt_ids, content_parts
from handaxe.tools.web.http_loop import HttpAnswer, HttpFailure, HttpLoop, check_address

__all__ = ["ServerLostError", "VllmHttp"]

REQUEST_PREFIX = "generate-tokens-"
"""Prefix that the server adds to request names."""
GENERATE = "/inference/v1/generate"
"""Route of sampling requests."""
CONTROL_BYTES = 2**20
"""Most bytes of an answer without tokens."""
CACHE_MISS = b"Cache miss"
"""In the refusal of a request without the bytes of an image, by a server that does not have the image."""
MISS_INTERVAL = 0.1
"""Seconds between two requests without the bytes of an image that are on their way with another request."""


class ServerLostError(InfrastructureError):
    """A server does not answer, reports an internal error, or returns an unusable answer."""


class VllmHttp:
    """Client of a server.

    Args:
        url: "http://host:port".
        loop: shared by all servers.
        timeout: seconds that a call without sampling may take.
        request_timeout: seconds from sending a sampling request to its last token, including time in the queue.

    Attributes:
        sent_images: images that the server has; cleared with the server's caches.
    """

    def __init__(self, url: str, loop: HttpLoop, *, timeout: float = 60.0, request_timeout: float = 3600.0):
        check_address(url)
        self.url = url.rstrip("/")
        self._loop = loop
        self._timeout, self._request_timeout = timeout, request_timeout
        self.sent_images = SentImages()

    def generate(
        self,
        request: Sample,
        name: str,
        *,
        vocab_size: int,
        max_length: int,
        forced: Sequence[int] = (),
        prompt: ImagePrompt | None = None,
    ) -> Future[Generated]:
        """Sample a request validated by `check_request`; of a partial turn, sample the rest.

        The future raises ServerLostError if the server is lost or the answer does not fit the request; InputError if
        the server refuses the request; TrainingError if the server makes other tokens of an image.

        Args:
            name: unique among the server's requests.
            forced: sample exactly these ids, to obtain their log-probs.
            prompt: of a request with images, with the sampled part of its turn.
        """
        body = generate_body(request, name, vocab_size=vocab_size, max_length=max_length, forced=forced, prompt=prompt)
        return self._loop.submit(self._generate(body, vocab_size, prompt))

    def abort(self, name: str) -> Future[Any]:
        """Abort a request, which ends with the tokens sampled so far. A request unknown to the server continues."""
        body = {"request_ids": [REQUEST_PREFIX + name]}
        return self._loop.submit(self._call("POST", "/inference/v1/abort_requests", body, None, self._timeout))

    def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Call a route and wait for the answer. Raises ServerLostError, and InputError for a refused request."""
        return self._loop.wait(self._call("POST", path, body, query, timeout or self._timeout))

    def get(self, path: str, *, timeout: float | None = None) -> Any:
        """Call a route by GET, as `post`."""
        return self._loop.wait(self._call("GET", path, None, None, timeout or self._timeout))

    def health(self, timeout: float) -> Future[Any]:
        """Check the health of the server; the future raises ServerLostError for an unhealthy server."""
        return self._loop.submit(self._call("GET", "/health", None, None, timeout))

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str] | None, timeout: float
    ) -> Any:
        answer = self._content(path, await self._exchange(method, path, body, query, timeout, CONTROL_BYTES))
        try:
            return json.loads(answer) if answer else {}
        except (ValueError, RecursionError):
            raise ServerLostError(f"the server {self.url} answers to {path} with no JSON: {_excerpt(answer)}") from None

    async def _generate(self, body: Mapping[str, Any], vocab_size: int, prompt: ImagePrompt | None) -> Generated:
        limit = answer_limit(body, prompt)
        if prompt is None:
            found = await self._exchange("POST", GENERATE, body, None, self._request_timeout, limit)
        else:
            found = await self._send_images(body, prompt, limit)
        answer = self._content(GENERATE, found)
        try:
            generated = read_generated(answer, body, vocab_size)
            prompt_ids = [] if prompt is None else read_prompt_ids(answer)
        except UnusableAnswerError as error:
            raise ServerLostError(
                f"the answer of the server {self.url} is unusable: {error}: {_excerpt(answer)}"
            ) from None
        if prompt is not None:
            check_prompt_ids(prompt_ids, prompt, self.url)
        return generated

    async def _send_images(self, body: Mapping[str, Any], prompt: ImagePrompt, limit: int) -> HttpAnswer:
        """Answer to a request with images. Bytes are sent with the first request of an image; a server that refuses a
        request without them gets all bytes once more."""
        images = prompt.images
        known = self.sent_images.claim(images)
        sent = [image for image in images if image.digest not in known]
        again = False
        try:
            while True:
                parts = await asyncio.to_thread(content_parts, images, known)  # encodes images
                whole = {**body, "content_parts": parts}
                answer = await self._exchange("POST", GENERATE, whole, None, self._request_timeout, limit)
                if answer.status < 400 or again:
                    break
                others = [image for image in images if image.digest in known]
                if CACHE_MISS in answer.body and self.sent_images.arriving(others):
                    await asyncio.sleep(MISS_INTERVAL)
                    continue
                if not known and answer.status < 500:
                    break
                # Also with all bytes: a server's engine may have lost an image that its frontend has, which is a 500.
                again = True
                known, sent = frozenset(), images
                self.sent_images.renew(images)
        except BaseException:
            self.sent_images.forget(sent)
            raise
        self.sent_images.arrived(sent)
        return answer

    async def _exchange(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, str] | None,
        timeout: float,
        limit: int,
    ) -> HttpAnswer:
        """Answer of any status."""
        try:
            return await self._loop.fetch(
                method, self.url + path, json=body, params=query, timeout=timeout, limit=limit
            )
        except HttpFailure as error:
            raise ServerLostError(
                f"the server {self.url} does not answer to {path} within {timeout:g} s: {error}"
            ) from None

    def _content(self, path: str, answer: HttpAnswer) -> bytes:
        """Body of an answer with a status of success."""
        text = _excerpt(answer.body)
        if answer.status >= 500:
            raise ServerLostError(f"the server {self.url} answers to {path} with HTTP {answer.status}: {text}")
        if answer.status >= 300:
            raise InputError(f"the server {self.url} refuses {path} with HTTP {answer.status}: {text}")
        return answer.body


def _excerpt(answer: bytes) -> str:
    return answer[:600].decode(errors="replace")
