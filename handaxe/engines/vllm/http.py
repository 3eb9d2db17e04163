"""The routes of one vLLM server that sampling needs, each call with a deadline.

    POST /inference/v1/generate        ids in, ids out, unstreamed      POST /pause, /resume
    POST /inference/v1/abort_requests                                   POST /start_, /update_, /finish_weight_update
    GET  /health, /weight_info

Requests under way wait in one thread, so hundreds of them cost nothing, and one that is cancelled delays no other.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.requests import Sample
from handaxe.engines.local.requests import begun, room

__all__ = ["HttpLoop", "LostError", "VllmHttp", "Written"]

PREFIX = "generate-tokens-"
"""What the server puts before the names of requests."""
TAKEN = 1.0
"""What the plugin writes as the logit of the id that it drew (`engines.vllm.plugin`)."""
UNKNOWN = -9999.0
"""What the server says of a log-prob that is not finite."""


class LostError(InfrastructureError):
    """A server that does not answer, reports an error of its own, or answers what cannot be used."""


class Written(NamedTuple):
    """What a server wrote: parallel lists, the version that each token was sampled under, and how it ended; "abort"
    where it was stopped on the way."""

    ids: list[int]
    logp: list[float]
    behaviour_logp: list[float]
    version: list[int]
    finish: str


class HttpLoop:
    """An event loop in a thread of its own, with one HTTP client. Raises InputError when httpx is missing."""

    def __init__(self) -> None:
        try:
            import httpx
        except ImportError as error:
            raise InputError(f'sampling over HTTP needs httpx: pip install "handaxe[http]" ({error})') from error
        self.httpx = httpx
        self._loop = asyncio.new_event_loop()
        # A daemon: a program that ends by an error must not wait for an answer.
        self._thread = threading.Thread(target=self._loop.run_forever, name="handaxe-vllm", daemon=True)
        self._thread.start()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self.client = httpx.AsyncClient(limits=limits, trust_env=False, follow_redirects=False)

    def run(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Begin `work` in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Give up what is under way and end the thread."""
        if self._loop.is_closed():
            return
        self.run(self._stop()).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _stop(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.client.aclose()


class VllmHttp:
    """Speak to one server.

    Args:
        url: "http://host:port".
        loop: shared by all servers.
        timeout: seconds a call may take that does not sample.
        patience: seconds a request may take from being sent to its last token, others' turns included.
    """

    def __init__(self, url: str, loop: HttpLoop, *, timeout: float = 60.0, patience: float = 3600.0):
        if not url.startswith(("http://", "https://")):
            raise InputError(f"{url!r} is no address of a server; give one such as http://127.0.0.1:8000")
        self.url = url.rstrip("/")
        self._loop = loop
        self._timeout, self._patience = timeout, patience

    def generate(
        self, request: Sample, name: str, *, vocab_size: int, max_length: int, forced: Sequence[int] = ()
    ) -> Future[Written]:
        """Have a request sampled that `check_request` found good; the rest of its turn where that was begun.

        The future raises LostError when the server is lost, InputError when it refuses the request.

        Args:
            name: unlike any other that the server has.
            forced: take these ids, to be told their log-probs.
        """
        body = _body(request, name, vocab_size, max_length, forced)
        return self._loop.run(self._generate(body))

    def abort(self, name: str) -> Future[Any]:
        """Stop a request; it then ends with what it has. One that the server does not know of yet goes on."""
        body = {"request_ids": [PREFIX + name]}
        return self._loop.run(self._call("POST", "/inference/v1/abort_requests", body, None, self._timeout))

    def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Call a route and wait for its answer. Raises LostError, and InputError for what it refuses."""
        return self._wait(self._call("POST", path, body, query, timeout or self._timeout))

    def get(self, path: str, *, timeout: float | None = None) -> Any:
        """As `post`."""
        return self._wait(self._call("GET", path, None, None, timeout or self._timeout))

    def health(self, timeout: float) -> Future[Any]:
        """Ask whether the server is well; the future raises LostError when it is not."""
        return self._loop.run(self._call("GET", "/health", None, None, timeout))

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        future = self._loop.run(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str] | None, timeout: float
    ) -> Any:
        httpx = self._loop.httpx
        try:
            async with asyncio.timeout(timeout):
                answer = await self._loop.client.request(
                    method, self.url + path, json=body, params=query, timeout=httpx.Timeout(timeout, connect=10.0)
                )
        except (httpx.HTTPError, TimeoutError, OSError) as error:
            said = f"{type(error).__name__} {error}".strip()
            raise LostError(f"the server {self.url} does not answer to {path} within {timeout:g} s: {said}") from None
        said = answer.text[:600]
        if answer.status_code >= 500:
            raise LostError(f"the server {self.url} answers to {path} with HTTP {answer.status_code}: {said}")
        if answer.status_code >= 300:
            raise InputError(f"the server {self.url} refuses {path} with HTTP {answer.status_code}: {said}")
        try:
            return answer.json() if answer.content else {}
        except ValueError:
            raise LostError(f"the server {self.url} answers to {path} with no JSON: {said}") from None

    async def _generate(self, body: Mapping[str, Any]) -> Written:
        answer = await self._call("POST", "/inference/v1/generate", body, None, self._patience)
        return _written(answer, self.url)


def _body(request: Sample, name: str, vocab_size: int, max_length: int, forced: Sequence[int]) -> dict[str, Any]:
    """What the server is sent. To vLLM it is greedy: what is drawn is drawn by the plugin, from `extra_args`."""
    sampling, drawn = request.sampling, begun(request).ids
    ends = sorted(i for i in request.stop | request.header if 0 <= i < vocab_size)
    draws = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
    asked = {**draws, "seed": str(request.seed), "drawn": len(drawn), "forced": list(map(int, forced))}
    params: dict[str, Any] = {"temperature": 0.0, "max_tokens": room(request, max_length) - len(drawn), "logprobs": 3}
    params |= {"stop_token_ids": ends, "ignore_eos": True, "detokenize": False, "extra_args": {"handaxe": asked}}
    ids = [*map(int, request.ids), *map(int, drawn)]
    return {"request_id": name, "token_ids": ids, "sampling_params": params, "stream": False}


def _written(answer: Any, url: str) -> Written:
    """Read the server's answer.

    Raises:
        InputError: when the server draws by itself, for want of the plugin.
        LostError: for an answer that cannot be read, or that leaves the version of a token open.
    """
    try:
        choice = answer["choices"][0]
        ids = [int(token) for token in choice["token_ids"] or ()]
        entries = ((choice["logprobs"] or {}).get("content") or ()) if ids else ()
        version: list[int] = []
        for span in choice["weight_versions"] or ():
            number = int(str(span["version"]).rpartition(".")[2])
            version += [number] * (int(span["end"]) - int(span["start"]))
        if len(version) != len(ids):
            raise ValueError(f"{len(ids)} tokens, of which {len(version)} have a version")
        pairs = [_logprobs(token, entry) for token, entry in zip(ids, entries, strict=True)]
        finish = str(choice["finish_reason"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise LostError(
            f"the server {url} gives an answer that cannot be read ({error!r}): {str(answer)[:300]}"
        ) from None
    if None in pairs:
        raise InputError(
            f"the server {url} draws by itself, so nothing that it samples can be trained on: start it with handaxe in "
            "its environment and the options that handaxe.engines.vllm.process.server_options lists"
        )
    behaviour, logp = ([pair[k] for pair in pairs if pair] for k in (0, 1))
    return Written(ids, logp, behaviour, version, finish)


def _logprobs(token: int, entry: Mapping[str, Any]) -> tuple[float, float] | None:
    """behaviour_logp and logp of a token, as the plugin hid them; None where no plugin drew it."""
    others = sorted((float(o["logprob"]) for o in entry["top_logprobs"] if o["token_id"] != token), reverse=True)
    if entry["logprob"] != TAKEN or len(others) < 2:
        return None
    behaviour, logp = (math.nan if value <= UNKNOWN else value for value in others[:2])
    return behaviour, logp
