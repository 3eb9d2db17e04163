"""Engine for chat completions servers, with tool calls; samples only, cannot train."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from handaxe.core.batch import Batch, LossOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.images import Image, message_images
from handaxe.core.protocols import ChatFormat, HiddenMeasure, Loss
from handaxe.core.records import Message, ParsedTurn, Sampling, ToolSchema
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.openai.chat_http import ChatHttp, ChatReply, RefusedError, token_usage
from handaxe.engines.openai.label_reply import LabelReply, RefusedQuestion
from handaxe.engines.openai.label_requests import LABEL_TOKENS, LabelRequests

__all__ = ["ConversationFormat", "OpenAICompatible", "Price"]

Result = Completion | InfrastructureError


class Price(NamedTuple):
    """Cost of a million tokens, in any unit."""

    prompt: float
    completion: float


class ConversationFormat(ChatFormat, Protocol):
    """A chat format whose ids encode messages, such as `models.chat_formats.transcript.Transcript`."""

    def request(self, ids: Sequence[int], images: Sequence[Image] = ()) -> dict[str, Any]:
        """The "messages" and "tools" of the protocol that the ids encode, with images as data: URLs."""
        ...

    def reply(self, content: str, calls: Sequence[tuple[str, str]], *, ended: bool) -> list[int]:
        """Ids of a server's reply: text, and name and arguments of each call."""
        ...


class OpenAICompatible:
    """Implements the sampling part of `core.protocols.Engine`, and `core.protocols.Streams`; training raises
    InputError.

        ids --format.request--> messages, tools --POST url/chat/completions--> text, tool calls --format.reply--> ids

    Rollouts, environments, rewards, records and evaluation work unchanged. Differences from a local engine:

    - Servers return no log-probs of these ids; they are recorded as 0. Do not train on such records by methods that
      need log-probs; supervised training on the messages is possible. `label_logps` gives those of labels.
    - The server counts `max_tokens` in its tokens. A completion's ids are bytes of JSON, and token counts of a
      trajectory count these bytes. `seconds` is the wall time of the request, `cost` follows from `price`.
    - The server decides if it honours seed, temperature and top_p.
    - A truncated turn and a conversation above the server's context length end with finish "length". Servers report
      "tool_calls" even for a truncated turn with calls, so a turn that used all its tokens counts as truncated.

    Failed requests are repeated after status 408, 409, 425, 429 and 5xx, a lost connection, a timeout, or an answer
    that is no JSON; pauses grow, or follow Retry-After up to a minute. For a request without an answer `stream().poll`
    returns an InfrastructureError instead of a completion, and `sample` raises the first such error. Redirects are not
    followed; certificates are verified. The key appears in no record, message or repr.

    Args:
        url: base address, such as "http://127.0.0.1:8000/v1"; /chat/completions is appended.
        model: the server's name of the model.
        format: `Transcript()`.
        key: API key.
        key_env: name of an environment variable with the API key, instead of `key`.
        price: of the tokens reported by the server; None: cost is 0.
        concurrency: most requests at the same time, >= 1.
        timeout: seconds that one attempt may take in total, from connecting to the last byte of the answer.
        attempts: most attempts of a request, >= 1.
        backoff: seconds before the second attempt; doubles for each further one.
        send_seed: send the seed of each request.
        max_tokens_field: the server's name of the token limit.
        extra: additional fields of every request body, such as {"reasoning_effort": "low"}.
        headers: additional HTTP headers; like the key in no record, message or repr.

    Raises:
        InputError: a limit out of range, an invalid address, key or header, or an unset environment variable; while
            sampling, a request that the server refuses (a wrong key, an unknown model), with the server's message.

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
        format: ConversationFormat,
        key: str = "",
        key_env: str = "",
        price: Price | None = None,
        concurrency: int = 16,
        timeout: float = 120.0,
        attempts: int = 4,
        backoff: float = 0.5,
        send_seed: bool = True,
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        if concurrency < 1 or attempts < 1 or not timeout > 0 or backoff < 0:
            raise InputError(
                f"concurrency {concurrency} and attempts {attempts} must be at least 1, timeout {timeout} above 0 and "
                f"backoff {backoff} at least 0"
            )
        if key_env and not os.environ.get(key_env):
            raise InputError(f"the environment variable {key_env} is not set; it should hold the API key")
        self.model = model
        self.format = format
        self.url = url.rstrip("/")
        self._price = price or Price(0.0, 0.0)
        self._send_seed = send_seed
        self._max_tokens_field = max_tokens_field
        self._extra, self._concurrency = dict(extra or {}), concurrency
        self._http = ChatHttp(
            f"{self.url}/chat/completions",
            key=key or os.environ.get(key_env, ""),
            headers=headers or {},
            timeout=timeout,
            attempts=attempts,
            backoff=backoff,
        )
        self._labels = LabelRequests(self._http, max_tokens_field)
        self._pool = concurrent.futures.ThreadPoolExecutor(concurrency, thread_name_prefix="handaxe-chat")

    def __repr__(self) -> str:
        return f"<{self.model} at {self.url}>"

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """Sample a completion per request, in order, `concurrency` at a time. Raises InfrastructureError, after the end
        of all requests, if a request got no answer."""
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
        """Open a stream of requests; `poll(wait)` waits for the first to end."""
        return _Stream(self._submit)

    def ask(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        sampling: Sampling | None = None,
        seed: int = 0,
    ) -> ParsedTurn:
        """Sample a reply to messages, without a rollout; for judges, simulated users and data.

        Raises:
            InfrastructureError: the server gives no answer.
        """
        return self._parsed(self._ask(messages, tools, sampling, seed).result(), tools)

    async def ask_async(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        sampling: Sampling | None = None,
        seed: int = 0,
    ) -> ParsedTurn:
        """As `ask`, for coroutines such as async rewards; at most `concurrency` requests are sent at the same time."""
        return self._parsed(await asyncio.wrap_future(self._ask(messages, tools, sampling, seed)), tools)

    def _ask(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling | None, seed: int
    ) -> concurrent.futures.Future[Result]:
        ids = self.format.start(messages, tools).ids
        limits = sampling or Sampling(max_tokens=1024)
        return self._submit(0, Sample(ids, limits, seed, self.format.stop_ids, images=message_images(messages)))

    def _parsed(self, result: Result, tools: Sequence[ToolSchema]) -> ParsedTurn:
        if isinstance(result, InfrastructureError):
            raise result
        return self.format.parse(result.ids, tools)

    def label_logps(
        self, conversations: Sequence[Sequence[Message]], labels: Mapping[str, tuple[str, ...]]
    ) -> list[LabelReply | InfrastructureError]:
        """Log-likelihoods of labels as the next turn of each conversation, in order, `concurrency` at a time.

        One token is sampled at temperature 1, with its 20 most likely alternatives (`label_reply.read_labels`). Where
        labels begin alike, such as 1 and 10, and for a server without alternatives (remembered), the server writes the
        label instead, greedily.

        Args:
            conversations: messages before the label.
            labels: label -> its surface forms.

        Returns:
            A reply for each conversation, or the error of one without an answer. Raises InputError if the server
            refuses the key, the address or the model.
        """
        futures = [self._pool.submit(self._label, messages, labels) for messages in conversations]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def close(self) -> None:
        """Close connections and threads; pending requests are cancelled."""
        self._http.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, torch.Tensor]:
        """Raise InputError: a server returns no log-probs and no hidden states."""
        measures = ", ".join(name if isinstance(name, str) else name.name for name in names)
        raise InputError(
            f"{self!r} only samples, so it cannot measure {measures}: measure a local model, with LocalEngine"
        )

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Raise InputError: a server cannot be trained."""
        raise self._no_training()

    def optim_step(self, *, learning_rate: float, critic_rate: float | None = None) -> dict[str, float]:
        """Raise InputError: a server cannot be trained."""
        raise self._no_training()

    def save(self, folder: Path) -> None:
        """Write nothing; the engine has no state."""

    def load(self, folder: Path) -> None:
        """Read nothing; the engine has no state."""

    def _no_training(self) -> InputError:
        return InputError(f"{self!r} only samples: train a local model, with LocalEngine")

    def _submit(self, number: int, request: Sample) -> concurrent.futures.Future[Result]:
        return self._pool.submit(self._complete, self._body(number, request))

    def _body(self, number: int, request: Sample) -> dict[str, Any]:
        if request.prefix is not None and request.prefix.ids:
            raise InputError(f"request {number}: a chat server cannot continue a partial turn")
        if request.sampling.max_tokens < 1:
            raise InputError(f"request {number}: max_tokens is {request.sampling.max_tokens}; give 1 or more")
        sampling = request.sampling
        body = {"model": self.model, **self.format.request(request.ids, request.images), "stream": False}
        body |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
        body |= {self._max_tokens_field: sampling.max_tokens}
        if sampling.top_k:
            body["top_k"] = sampling.top_k
        if self._send_seed:
            body["seed"] = request.seed % 2**31
        return {**body, **self._extra}

    def _complete(self, body: dict[str, Any]) -> Result:
        start_time = time.perf_counter()
        try:
            answer = self._http.post(body)
            reply = ChatReply.parse(answer, hide=self._http.hide)
            prompt_tokens, completion_tokens = token_usage(answer)
            if reply.calls and completion_tokens >= (body.get(self._max_tokens_field) or math.inf):
                reply = reply._replace(finish="length")
        except InfrastructureError as error:
            return error
        except RefusedError as error:
            if not error.above_context:
                raise self._refusal(error) from None
            reply = ChatReply("", [], "length")
            prompt_tokens = 0.0
            completion_tokens = 0.0
        ids = self.format.reply(reply.content, reply.calls, ended=reply.finish == "stop")
        zeros = [0.0] * len(ids)
        seconds = time.perf_counter() - start_time
        cost = self._cost(prompt_tokens, completion_tokens)
        return Completion(ids, zeros, zeros, [self.version] * len(ids), reply.finish, seconds, cost)

    def _label(
        self, messages: Sequence[Message], labels: Mapping[str, tuple[str, ...]]
    ) -> LabelReply | InfrastructureError:
        ids, sampling = self.format.start(messages, ()).ids, Sampling(temperature=0.0, max_tokens=LABEL_TOKENS)
        body = self._body(0, Sample(ids, sampling, 0, self.format.stop_ids, images=message_images(messages)))
        try:
            found = self._labels.ask(body, labels)
        except InfrastructureError as error:
            return error
        except RefusedError as error:
            raise self._refusal(error) from None
        return found._replace(cost=self._cost(found.read, found.written))

    def _cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        return (prompt_tokens * self._price.prompt + completion_tokens * self._price.completion) / 1e6

    def _refusal(self, error: RefusedError) -> InputError:
        kind = RefusedQuestion if error.one_question else InputError
        return kind(f"{self!r} refuses the request with HTTP {error.status}: {error}")


class _Stream:
    """Implements `core.protocols.Stream`. An interrupted request continues on the server; the reply is dropped."""

    def __init__(self, submit: Any):
        self._submit = submit
        self._futures: dict[int, concurrent.futures.Future[Result]] = {}
        self._count = 0

    def submit(self, request: Sample) -> int:
        """Send a request and return the ticket."""
        ticket = self._count
        self._futures[ticket] = self._submit(ticket, request)
        self._count += 1
        return ticket

    def poll(self, wait: float = 0.0) -> list[tuple[int, Any]]:
        """Wait up to `wait` seconds for the first request to end; returns ended requests by ticket, with an
        InfrastructureError instead of a completion for a failed request."""
        concurrent.futures.wait(self._futures.values(), wait, concurrent.futures.FIRST_COMPLETED)
        ended = sorted(ticket for ticket, future in self._futures.items() if future.done())
        return [(ticket, self._futures.pop(ticket).result()) for ticket in ended]

    def interrupt(self, ticket: int) -> Partial:
        """Drop a request and return an empty partial turn."""
        self._futures.pop(ticket).cancel()
        return Partial([], [], [], [])

    def __len__(self) -> int:
        return len(self._futures)

    def close(self) -> None:
        """Drop every request."""
        for ticket in list(self._futures):
            self.interrupt(ticket)
