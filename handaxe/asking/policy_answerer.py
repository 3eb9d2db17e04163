"""Answers of a language model behind an engine: labels by likelihood, texts by sampling."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np

from handaxe.asking.ask import Ask, AskAnswer, FailureKind, Spent
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import ChatFormat, Engine, Measures
from handaxe.core.records import Message
from handaxe.core.requests import Completion, Measure, Sample
from handaxe.engines.openai.label_reply import LabelReply, RefusedQuestion
from handaxe.ops.seeds import derive_seed

__all__ = [
    "GivesLabels",
    "PlacedQuestion",
    "PolicyAnswerer",
    "engine_lock",
    "label_forms",
    "label_requests",
    "place_question",
]

SHORT = 1024
"""Models with a shorter context get the terse variants of prompts."""
LABEL_TOKENS = 16
"""Tokens of a label that a server writes as a text."""
LOCKS: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
GUARD = threading.Lock()


def engine_lock(engine: Engine) -> threading.Lock:
    """The lock of an engine: threads ask it one after another."""
    with GUARD:
        return LOCKS.setdefault(engine, threading.Lock())


@runtime_checkable
class GivesLabels(Protocol):
    """Engine of a chat server, such as `OpenAICompatible`."""

    def label_logps(
        self, conversations: Sequence[Sequence[Message]], labels: Mapping[str, tuple[str, ...]]
    ) -> list[LabelReply | InfrastructureError]:
        """One reply each, in order."""
        ...


class PlacedQuestion(NamedTuple):
    """A rendered question that fits: its messages and ids."""

    messages: tuple[Message, ...]
    ids: list[int]


def place_question(ask: Ask, format: ChatFormat, *, room: int) -> PlacedQuestion | None:
    """Render a question into at most `room` ids; the longest quoted field loses its middle, visibly, until it fits.

    Returns:
        None where what may not be cut is too long.
    """
    cut, least = 0, sum(len(ask.fields[name]) for name in ask.prompt.quoted)
    while True:
        messages = ask.prompt.render(ask.fields, cut=cut)
        ids = format.start(messages, ()).ids
        if len(ids) <= room:
            return PlacedQuestion(messages, ids)
        if cut > least:
            return None
        cut += max(16, (len(ids) - room) // 2)


class PolicyAnswerer:
    """Answers by an engine and its chat format.

        labels   log P(form | question) of each surface form: its tokens after the start that all forms share. The stop
                 token counts where one form is the start of another. log P(label) = logsumexp over its forms
        texts    one sample, with a seed of the question

    A chat server gives labels by `OpenAICompatible.label_logps`, from the first token of an answer; any other engine
    without log-prob measurements writes a label as a text. A server cannot continue a text: the prompt's prefix is left
    out. Failures: "too_long" for a question above the context, "unavailable" for a server without an answer, "refused"
    for a question that the server refuses and for an answer without text or with calls, "unreadable" for labels that
    the first token does not separate.

    Args:
        engine: of a local model, a cluster or a server.
        format: its chat format.
        name: in records, such as "smollm2".
        rows: questions a call of the engine.

    Raises:
        InputError: while answering, a server refuses the key, the address or the model.

    Example:
        PolicyAnswerer(LocalEngine(model), format, name="smollm2").answer([ask])[0].label_logp -> {"yes": -0.4, ...}
    """

    def __init__(self, engine: Engine, format: ChatFormat, *, name: str, rows: int = 64):
        self.engine = engine
        self.format = format
        self.name = name
        self._rows = rows
        self._digests: dict[int, str] = {}

    @property
    def terse(self) -> bool:
        return self.engine.max_length < SHORT

    def fingerprint(self) -> str:
        """Name, weights and format; the weights of a server are its name."""
        version = self.engine.version
        if version not in self._digests:
            digest = getattr(self.engine, "start_digest", lambda: repr(self.engine))
            self._digests[version] = f"{digest()} {type(self.format).__qualname__}"
        return f"{self.name} {version} {self._digests[version]}"

    def answer(self, asks: Sequence[Ask]) -> list[AskAnswer]:
        by = self.fingerprint()
        measured, served = isinstance(self.engine, Measures), isinstance(self.engine, GivesLabels)
        labelled = [k for k, ask in enumerate(asks) if ask.prompt.labels and (measured or served)]
        sampled = sorted(set(range(len(asks))) - set(labelled))
        parts = ((labelled, self._by_likelihood if measured else self._by_server), (sampled, self._by_sampling))
        out = [AskAnswer(by=by, failure="unavailable")] * len(asks)
        with nullcontext() if served else engine_lock(self.engine):  # a server answers several threads at a time
            for part, answers in parts:
                for start in range(0, len(part), self._rows):
                    chosen = part[start : start + self._rows]
                    for k, found in zip(chosen, answers([asks[k] for k in chosen], by), strict=True):
                        out[k] = found
        return out

    # --- labels ------------------------------------------------------------------------------------------------------

    def forms(self, ask: Ask) -> tuple[dict[str, list[list[int]]], int]:
        """Label -> ids of each surface form behind the prompt's prefix; and the number of ids that all forms share."""
        return label_forms(ask.prompt.labels, ask.prompt.prefix, self.format)

    def _by_likelihood(self, asks: Sequence[Ask], by: str) -> list[AskAnswer]:
        begin = time.perf_counter()
        requests, places = list[Measure](), list[tuple[int, str]]()
        out = [dict[str, list[float]]() for _ in asks]
        read = [0] * len(asks)
        for k, ask in enumerate(asks):
            forms, shared = self.forms(ask)
            longest = max(len(ids) for own in forms.values() for ids in own)
            placed = place_question(ask, self.format, room=self.engine.max_length - longest)
            if placed is None:
                continue
            read[k] = len(placed.ids)
            for label, request in label_requests(placed, forms, shared):
                requests.append(request)
                places.append((k, label))
        assert isinstance(self.engine, Measures)
        for (k, label), found in zip(places, self.engine.measure(requests) if requests else (), strict=True):
            out[k].setdefault(label, []).append(sum(found["logp"]))
        seconds = (time.perf_counter() - begin) / len(asks)
        return [
            AskAnswer(
                label_logp={label: float(np.logaddexp.reduce(each)) for label, each in own.items()},
                spent=Spent(n, 0, seconds),
                by=by,
            )
            if own
            else AskAnswer(by=by, failure="too_long")
            for own, n in zip(out, read, strict=True)
        ]

    def _by_server(self, asks: Sequence[Ask], by: str) -> list[AskAnswer]:
        assert isinstance(self.engine, GivesLabels)
        out: list[AskAnswer] = [AskAnswer(by=by, failure="unavailable")] * len(asks)
        for digest, prompt in {ask.prompt.digest: ask.prompt for ask in asks}.items():
            chosen = [k for k, ask in enumerate(asks) if ask.prompt.digest == digest]
            conversations = [prompt.render(asks[k].fields) for k in chosen]
            for k, found in zip(chosen, self.engine.label_logps(conversations, prompt.labels), strict=True):
                out[k] = _served_answer(found, by)
        return out

    # --- texts -------------------------------------------------------------------------------------------------------

    def _by_sampling(self, asks: Sequence[Ask], by: str) -> list[AskAnswer]:
        out: list[AskAnswer] = [AskAnswer(by=by, failure="too_long")] * len(asks)
        requests, sent = list[Sample](), list[int]()
        for k, ask in enumerate(asks):
            limits = ask.sampling
            if ask.prompt.labels:
                limits = type(limits)(temperature=0.0, max_tokens=LABEL_TOKENS)
            prefix = self._prefix(ask.prompt.prefix)
            room = self.engine.max_length - limits.max_tokens - len(prefix)
            placed = place_question(ask, self.format, room=room)
            if placed is None:
                continue
            seed = derive_seed("asking", ask.key("")) + ask.sample
            ids = [*placed.ids, *prefix]
            requests.append(Sample(ids, limits, seed, self.format.stop_ids, self.format.header_ids))
            sent.append(k)
        for k, request, found in zip(sent, requests, self._completions(requests), strict=True):
            if isinstance(found, InfrastructureError | InputError):
                failed: FailureKind = "unavailable" if isinstance(found, InfrastructureError) else "refused"
                out[k] = AskAnswer(by=by, failure=failed, text=str(found))
                continue
            text = self._said(found)
            failure: FailureKind = "" if text.strip() else "too_long" if found.finish == "length" else "refused"
            spent = Spent(len(request.ids), len(found.ids), found.seconds, found.cost)
            out[k] = AskAnswer(text, spent=spent, by=by, failure=failure)
        return out

    def _said(self, found: Completion) -> str:
        """Text of an answer without its end; "" for an answer of a server that calls tools, since none were offered."""
        if isinstance(self.engine, Measures):
            ended = self.format.stop_ids | self.format.header_ids
            return self.format.decode(found.ids[: len(found.ids) - (found.ids[-1] in ended)])
        parsed = self.format.parse(found.ids, ())
        return "" if parsed.calls or parsed.errors else parsed.text

    def _prefix(self, prefix: str) -> list[int]:
        """Ids of the beginning of an answer; [] for a server, which cannot continue one."""
        if not prefix or not isinstance(self.engine, Measures):
            return []
        ids = self.format.encode_turn(Message("assistant", prefix), ())
        return ids[: len(ids) - (ids[-1] in self.format.stop_ids)]

    def _completions(self, requests: Sequence[Sample]) -> list[Completion | InfrastructureError | RefusedQuestion]:
        if not requests:
            return []
        if isinstance(self.engine, Measures):
            return list(self.engine.sample(requests))
        with ThreadPoolExecutor(len(requests)) as threads:  # the engine limits the requests at a time
            return list(threads.map(self._completion, requests))

    def _completion(self, request: Sample) -> Completion | InfrastructureError | RefusedQuestion:
        try:
            (found,) = self.engine.sample([request])
        except (InfrastructureError, RefusedQuestion) as error:
            return error
        return found


def _served_answer(found: LabelReply | InfrastructureError, by: str) -> AskAnswer:
    if isinstance(found, InfrastructureError):
        return AskAnswer(by=by, failure="unavailable", text=str(found))
    failure: FailureKind = "unreadable" if found.failure == "unclear" else found.failure
    spent = Spent(found.read, found.written, found.seconds, found.cost)
    return AskAnswer(found.text, found.logp, spent=spent, by=by, failure=failure)


def label_forms(
    labels: Mapping[str, tuple[str, ...]], prefix: str, format: ChatFormat
) -> tuple[dict[str, list[list[int]]], int]:
    """Label -> ids of each surface form behind a prefix; and the number of ids that all forms share.

    Raises:
        InputError: two labels have one form, or no token separates the forms.
    """
    ids = {
        label: [format.encode_turn(Message("assistant", prefix + form), ()) for form in forms]
        for label, forms in labels.items()
    }
    every = [tuple(one) for own in ids.values() for one in own]
    shared = next((k for k, column in enumerate(zip(*every, strict=False)) if len(set(column)) > 1), None)
    if shared is None or len(set(every)) < len(every):
        raise InputError(f"no token separates the labels {', '.join(labels)}: give each label other forms")
    ended = any(a != b and b[: len(a) - 1] == a[:-1] for a in every for b in every)
    if not ended:  # a label counts as the beginning of an answer
        ids = {label: [one[:-1] for one in own] for label, own in ids.items()}
    return ids, shared


def label_requests(
    question: PlacedQuestion, forms: Mapping[str, Sequence[Sequence[int]]], shared: int
) -> list[tuple[str, Measure]]:
    """Label and request for the log-likelihood of each surface form, with the images of the question.

    Args:
        question: messages and ids.
        forms, shared: of `label_forms`.
    """
    images = tuple(image for message in question.messages for image in message.images)
    start = len(question.ids) + shared
    return [
        (label, Measure([*question.ids, *ids], start, images=images)) for label, own in forms.items() for ids in own
    ]
