"""Samples from any server that speaks chat completions, with tool calls. It cannot train."""

from __future__ import annotations

import concurrent.futures
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import torch

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import ChatFormat, HiddenMeasure, Loss
from handaxe.core.records import Message, ParsedTurn, Sampling, ToolSchema
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.openai.http import ChatHttp, RefusedError, Said

__all__ = ["Conversations", "OpenAICompatible", "Price"]

Result = Completion | InfrastructureError
TOO_LONG = ("context_length", "context length", "context size", "maximum context", "too long", "too many tokens")
MOST_TOKENS = 10**12
"""What a server says of more is no number of tokens."""


class Price(NamedTuple):
    """What a million tokens cost, in a unit of your choice."""

    prompt: float
    completion: float


class Conversations(ChatFormat, Protocol):
    """A chat format whose ids stand for messages; `models.transcript.Transcript` is one."""

    def request(self, ids: Sequence[int]) -> dict[str, Any]:
        """ "messages" and "tools" of the protocol that the ids stand for."""
        ...

    def reply(self, content: str, calls: Sequence[tuple[str, str]], *, ended: bool) -> list[int]:
        """The ids of what a server said: text, and name and arguments of each call."""
        ...


class OpenAICompatible:
    """Implements `slots.Engine` as far as sampling goes, and `slots.Streams`; what would train raises InputError.

        ids --format.request--> messages, tools --POST url/chat/completions--> text, tool calls --format.reply--> ids

    Rollouts, environments, rewards, records and evaluation work unchanged. What differs from a local engine:

    - A server gives no log-probs of these ids, so they are recorded as 0. Do not train on such records by anything that
      needs log-probs; supervised training on the messages is fine.
    - `max_tokens` is counted by the server in its own tokens; a completion's ids are bytes of JSON, so what counts a
      trajectory's tokens counts these. `seconds` is the wall time of the request, `cost` follows from `price`.
    - Whether the seed is honoured, and temperature and top_p exactly obeyed, is up to the server.
    - A turn that was cut, and a conversation longer than the server takes, end as finish "length". Servers say
      "tool_calls" of a turn with calls even where it was cut; so one that spent all its tokens counts as cut.

    A request that fails is tried again after 408, 409, 425, 429, 5xx, a lost connection, an answer that is late or no
    JSON, with growing pauses, or as long as Retry-After says up to a minute. `stream().poll` hands over an
    InfrastructureError in place of the completion of a request that got no answer; `sample` raises the first one.
    Redirects are not followed and certificates are checked. The key stands in no record, message or repr.

    Args:
        url: base address, such as "http://127.0.0.1:8000/v1"; /chat/completions is appended.
        model: the server's name of the model.
        format: `Transcript()`.
        key: API key; or
        key_env: name of the environment variable that holds it.
        price: of the tokens the server reports; None: cost is 0.
        concurrency: requests at the same time, >= 1.
        timeout: seconds one attempt may take.
        attempts: how often a request is tried, >= 1.
        backoff: seconds before the second attempt; doubles.
        seeded: send the seed of each request.
        limit_as: what the server calls the limit on tokens.
        extra: further fields of every request's body, such as {"reasoning_effort": "low"}.
        headers: further HTTP headers; like the key in no record, message or repr.

    Raises:
        InputError: a limit out of range, an invalid address, key or header, an environment variable that is not
            set; later, by sampling, whatever the server refuses for good (a wrong key, an unknown model), in its own
            words.

    Example:
        engine = OpenAICompatible("http://127.0.0.1:8000/v1", model="some/model", format=Transcript())
        engine.ask([Message("user", "What is a burin?")]).text
    """

    version = 0
    max_length = 1 << 24
    pad_id = 0

    def __init__(
        self,
        url: str,
        *,
        model: str,
        format: Conversations,
        key: str = "",
        key_env: str = "",
        price: Price | None = None,
        concurrency: int = 16,
        timeout: float = 120.0,
        attempts: int = 4,
        backoff: float = 0.5,
        seeded: bool = True,
        limit_as: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        if not url.startswith(("http://", "https://")):
            raise InputError(f"{url!r} is no address of a server; give one such as http://127.0.0.1:8000/v1")
        if concurrency < 1 or attempts < 1 or not timeout > 0 or backoff < 0:
            raise InputError(
                f"concurrency {concurrency} and attempts {attempts} must be 1 or more, timeout {timeout} above 0 and "
                f"backoff {backoff} not below"
            )
        if key_env and not os.environ.get(key_env):
            raise InputError(f"the environment variable {key_env} is not set; it should hold the API key")
        self.model = model
        self.format = format
        self.url = url.rstrip("/")
        self._price = price or Price(0.0, 0.0)
        self._seeded = seeded
        self._limit_as = limit_as
        self._extra, self._concurrency = dict(extra or {}), concurrency
        self._http = ChatHttp(
            f"{self.url}/chat/completions",
            key=key or os.environ.get(key_env, ""),
            headers=headers or {},
            timeout=timeout,
            attempts=attempts,
            backoff=backoff,
        )
        self._pool = concurrent.futures.ThreadPoolExecutor(concurrency, thread_name_prefix="handaxe-chat")

    def __repr__(self) -> str:
        return f"<{self.model} at {self.url}>"

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """One completion a request, in order; `concurrency` at the same time. Raises InfrastructureError when one got
        none, after all are over."""
        bodies = [self._body(k, request) for k, request in enumerate(requests)]
        futures = [self._pool.submit(self._complete, body) for body in bodies]
        try:
            results = [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        for result in results:
            if isinstance(result, InfrastructureError):
                raise result
        return [result for result in results if isinstance(result, Completion)]

    def stream(self) -> _Stream:
        """Requests that come and go; `poll(wait)` waits for the first to end."""
        return _Stream(self._submit)

    def ask(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        sampling: Sampling | None = None,
        seed: int = 0,
    ) -> ParsedTurn:
        """One reply to messages, without a rollout: for judges, simulated users and data.

        Raises:
            InfrastructureError: no answer.
        """
        ids = self.format.start(messages, tools).ids
        request = Sample(ids, sampling or Sampling(max_tokens=1024), seed, self.format.stop_ids)
        return self.format.parse(self.sample([request])[0].ids, tools)

    def close(self) -> None:
        """Let go of connections and threads; requests under way are given up."""
        self._http.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, torch.Tensor]:
        """A server tells no log-probs and no hidden states."""
        asked = ", ".join(name if isinstance(name, str) else name.name for name in names)
        raise InputError(
            f"{self!r} only samples, so it cannot measure {asked}: measure a model of your own, with LocalEngine"
        )

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """A server cannot be trained."""
        raise self._only_samples()

    def optim_step(self, *, learning_rate: float) -> dict[str, float]:
        """A server cannot be trained."""
        raise self._only_samples()

    def save(self, folder: Path) -> None:
        """There is nothing to write."""

    def load(self, folder: Path) -> None:
        """There is nothing to read."""

    def _only_samples(self) -> InputError:
        return InputError(f"{self!r} only samples: train a model of your own, with LocalEngine")

    def _submit(self, number: int, request: Sample) -> concurrent.futures.Future[Result]:
        return self._pool.submit(self._complete, self._body(number, request))

    def _body(self, number: int, request: Sample) -> dict[str, Any]:
        if request.begun is not None and request.begun.ids:
            raise InputError(f"request {number}: a server cannot go on with a turn that has begun")
        if request.sampling.max_tokens < 1:
            raise InputError(f"request {number}: max_tokens is {request.sampling.max_tokens}; give 1 or more")
        sampling = request.sampling
        body = {"model": self.model, **self.format.request(request.ids), "stream": False}
        body |= {"temperature": sampling.temperature, "top_p": sampling.top_p, self._limit_as: sampling.max_tokens}
        if sampling.top_k:
            body["top_k"] = sampling.top_k
        if self._seeded:
            body["seed"] = request.seed % 2**31
        return {**body, **self._extra}

    def _complete(self, body: dict[str, Any]) -> Result:
        begin = time.perf_counter()
        try:
            answer = self._http.post(body)
            said = Said.of(answer, hide=self._http.hide)
            read, written = _tokens(answer)
            if said.calls and written >= (body.get(self._limit_as) or math.inf):
                said = said._replace(finish="length")
        except InfrastructureError as error:
            return error
        except RefusedError as error:
            if error.status in (400, 413, 422) and any(sign in str(error).lower() for sign in TOO_LONG):
                said = Said("", [], "length")
                read = 0.0
                written = 0.0
            else:
                raise InputError(f"{self!r} refuses the request with HTTP {error.status}: {error}") from None
        ids = self.format.reply(said.content, said.calls, ended=said.finish == "stop")
        zeros = [0.0] * len(ids)
        seconds = time.perf_counter() - begin
        cost = (read * self._price.prompt + written * self._price.completion) / 1e6
        return Completion(ids, zeros, zeros, [self.version] * len(ids), said.finish, seconds, cost)


def _tokens(answer: dict[str, Any]) -> tuple[float, float]:
    """Tokens that the server says it read and wrote; 0 where it does not say."""
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    read, written = (counts.get(f"{part}_tokens") for part in ("prompt", "completion"))
    return _count(read), _count(written)


def _count(said: Any) -> float:
    """A number of tokens; 0 for anything else."""
    return float(said) if isinstance(said, int | float) and 0 <= said < MOST_TOKENS else 0.0


class _Stream:
    """Implements `slots.Stream`. A request that is interrupted runs on at the server, and what it says is dropped."""

    def __init__(self, submit: Any):
        self._submit = submit
        self._futures: dict[int, concurrent.futures.Future[Result]] = {}
        self._count = 0

    def submit(self, request: Sample) -> int:
        """Send a request; its ticket."""
        ticket = self._count
        self._futures[ticket] = self._submit(ticket, request)
        self._count += 1
        return ticket

    def poll(self, wait: float = 0.0) -> list[tuple[int, Any]]:
        """What ended, in order of ticket; waits up to `wait` seconds for the first. An InfrastructureError stands in
        place of a completion that did not come."""
        concurrent.futures.wait(self._futures.values(), wait, concurrent.futures.FIRST_COMPLETED)
        ended = sorted(ticket for ticket, future in self._futures.items() if future.done())
        return [(ticket, self._futures.pop(ticket).result()) for ticket in ended]

    def interrupt(self, ticket: int) -> Partial:
        """Drop a request; nothing of it is known."""
        self._futures.pop(ticket).cancel()
        return Partial([], [], [], [])

    def __len__(self) -> int:
        return len(self._futures)

    def close(self) -> None:
        """Drop every request."""
        for ticket in list(self._futures):
            self.interrupt(ticket)
