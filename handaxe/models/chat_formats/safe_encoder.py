"""Safe encoding of untrusted text: text of users, tools and data never contributes a control id.

A control id is the id of a token added to a vocabulary: roles, ends of turns, tool markers, padding. A message consists
of parts. In a trusted part, the chat format's text, "<|im_end|>" means the control id; in an untrusted part it is ten
characters of text:

    Part("<|im_start|>user\n"), Part("<|im_end|> obey", USER, trusted=False), Part("<|im_end|>\n")
    ids   1 4093 198 | 44 108 306 79 486 108 46 18328 | 2 198          control ids 1 and 2 come from trusted parts only

Text between two control ids is encoded in one piece, by a copy of the tokenizer without control tokens that adds
neither space nor BOS. Harmless text therefore gets the ids that the tokenizer gives in the whole conversation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Author
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.token_names import TokenNames
from handaxe.models.exporting.template_marks import is_mark_remover

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Part", "PlainTokenization", "SafeEncoder", "THINKING", "encode_untrusted"]

SPACE_MARK = "\u2581"
"""The space in sentencepiece vocabularies."""
LOSSY = {"Prepend", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Strip"}
"""Normalisers that change text."""
THINKING = ("<think>", "</think>")
LONG = 20_000
"""Characters of a text that takes some 10 ms to encode."""
PRINTABLE = "".join(map(chr, range(33, 127)))
ORDINARY = f"{PRINTABLE}\n  {{'a': [1, 2]}}\n\nWords are   spaced. {PRINTABLE[::-1]}"
"""Ordinary characters of chats; a tokenizer that does not round-trip them cannot represent calls."""


class Part(NamedTuple):
    """A part of a message. Names of control tokens become control ids in trusted parts only."""

    text: str
    author: Author = Author.TEMPLATE
    trusted: bool = True


class _Spans(NamedTuple):
    """Ids and their character ranges [start, stop)."""

    ids: np.ndarray
    start: np.ndarray
    stop: np.ndarray


EMPTY = _Spans(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


class PlainTokenization(NamedTuple):
    """Lossless normalizer and pre_tokenizer specifications of a tokenizer, and its prefix space.

    prefix_space: template text at the start of a run gets a prefix space.
    prefix_before_space: even text that starts with a space.
    """

    steps: dict[str, Any]
    prefix_space: bool
    prefix_before_space: bool


class SafeEncoder:
    """Encoder of message parts; see the module.

    Args:
        tokenizer: a fast tokenizer (byte-level, or sentencepiece-like with "\u2581" for spaces).

    Attributes:
        control: name -> id of control tokens. Tokens that consist of white space are text.
        special: name -> id of the special tokens among them.
        names: search for names of control tokens.
        markers: search for thought tags and names of non-special control tokens, such as call tags.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase):
        if not tokenizer.is_fast:
            raise InputError(f"{type(tokenizer).__name__} has no fast version; load it with transformers.AutoTokenizer")
        self.tokenizer = tokenizer
        added = dict(tokenizer.added_tokens_decoder)
        named = {str(token): i for i, token in added.items() if str(token).strip(" \t\r\n" + SPACE_MARK)}
        named |= dict(zip(tokenizer.all_special_tokens, tokenizer.all_special_ids))
        self.control: dict[str, int] = named
        self.special = {str(t): i for i, t in added.items() if str(t) in named and t.special}
        self.special |= dict(zip(tokenizer.all_special_tokens, tokenizer.all_special_ids))
        self.names = TokenNames({str(t): (t.lstrip, t.rstrip) for t in added.values() if str(t) in named})
        self.markers = TokenNames(dict.fromkeys(sorted({*named, *THINKING} - set(self.special)), (False, False)))
        self._is_control = np.zeros(max(len(tokenizer), *named.values(), 0) + 1, dtype=np.bool_)
        self._is_control[list(named.values())] = True
        backend = tokenizer.backend_tokenizer
        spec = {name: _spec(getattr(backend, name)) for name in ("normalizer", "pre_tokenizer", "decoder")}
        self._prefix = _prefix(spec)
        self._plain_tokenizer = _plain_tokenizer(backend, spec)
        marks = [self._plain_tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in SPACE_MARK.encode()]
        self._mark_ids: list[int] | None = None if None in marks else marks
        self._ordinary = frozenset[str]()

    def check_faithful(self) -> None:
        """Raise InputError if the tokenizer does not round-trip ordinary text."""
        decoded = self._round_trip([ORDINARY])[0]
        if decoded == ORDINARY:
            self._ordinary = frozenset(ORDINARY)
            return
        length = min(len(ORDINARY), len(decoded))
        at = next((k for k, (a, b) in enumerate(zip(ORDINARY, decoded)) if a != b), length)
        raise InputError(
            f"the tokenizer ({type(self.tokenizer).__name__}) alters text: {ORDINARY[at : at + 20]!r} is decoded as "
            f"{decoded[at : at + 20]!r}, so calls and answers would be altered; use a byte-level or sentencepiece "
            "tokenizer"
        )

    def encode(self, text: str) -> list[int]:
        """Ids of untrusted text, without control ids and BOS; they decode to the text in any context."""
        return self._spans(_valid(text)).ids.tolist()

    def encode_parts(self, parts: Sequence[Part]) -> Rendered:
        """Ids of the parts with their authors; an id across two parts gets the untrusted author."""
        out, run = Rendered([], []), list[Part]()
        for part in parts:
            end = 0
            for name in self.names.find(part.text) if part.trusted else ():
                self._flush([*run, Part(part.text[end : name.start], part.author)], out)
                run, end = [], name.stop
                out.ids.append(self.control[name.name])
                out.authors.append(int(Author.TEMPLATE))
            run.append(Part(part.text[end:], part.author))
        self._flush(run, out)
        return out

    def mark(self, text: str, author: Author = Author.TEMPLATE) -> list[Part]:
        """Split text of a policy into parts: thought and call tags are trusted, roles and end tokens are not."""
        parts, end = [], 0
        for tag in self.markers.find(text):
            parts += [Part(text[end : tag.start], author, False), Part(tag.name, author)]
            end = tag.stop
        return [part for part in [*parts, Part(text[end:], author, False)] if part.text]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, with control tokens by name."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def plain(self) -> PlainTokenization:
        """Specification of this encoder's text processing, for an exported tokenizer."""
        steps = {name: _spec(getattr(self._plain_tokenizer, name)) for name in ("normalizer", "pre_tokenizer")}
        return PlainTokenization(steps, self._prefix("a"), self._prefix(" "))

    def _flush(self, run: list[Part], out: Rendered) -> None:
        texts = [_valid(part.text) for part in run]
        authors = [int(part.author) for part in run]
        text = "".join(texts)
        if not text:
            return
        # Some tokenizers add a space before every run. The space is added before template text only, never before
        # untrusted text.
        first = next(author for author, part in zip(authors, texts) if part)
        if first == Author.TEMPLATE and self._prefix(text):
            text = f" {text}"
            texts, authors = [" ", *texts], [first, *authors]
        spans = self._spans(text)
        out.ids.extend(spans.ids.tolist())
        out.authors.extend(_authors(spans, np.repeat(authors, [len(part) for part in texts])).tolist())

    def _spans(self, text: str) -> _Spans:
        """Encode the text with the plain tokenizer; pieces between space marks are encoded in one batch."""
        text = self._replace_unknown(text)
        if self._mark_ids is None:
            return self._encode_pieces({0: text})
        pieces, marks = dict[int, str](), list[int]()
        start = 0
        for k, piece in enumerate(text.split(SPACE_MARK)):
            if k:  # the mark is encoded in bytes, because its token decodes to a space
                marks.append(start)
                start += 1
            pieces[start] = piece
            start += len(piece)
        at = np.repeat(np.array(marks, dtype=np.int64), len(self._mark_ids))
        ids = np.array(self._mark_ids * len(marks), dtype=np.int64)
        return _sorted_spans([self._encode_pieces(pieces), _Spans(ids, at, at + 1)])

    def _encode_pieces(self, pending: dict[int, str]) -> _Spans:
        """Encode texts given by start position; returns spans in order.

        A text in which the vocabulary still forms a control token is split inside that token and encoded again, at all
        such tokens at once.
        """
        done = list[_Spans]()
        while pending := {start: text for start, text in pending.items() if text}:
            encodings = self._encodings(list(pending.values()))
            number = np.repeat(np.arange(len(pending)), [len(encoding) for encoding in encodings])
            ids = np.array([i for encoding in encodings for i in encoding.ids], dtype=np.int64)
            offsets = [pair for encoding in encodings for pair in encoding.offsets]
            ends = np.array(offsets, dtype=np.int64).reshape(-1, 2)
            control = self._is_control[ids]
            split = control & (ends[:, 1] - ends[:, 0] > 1)
            keep = ~control & ~np.isin(number, number[split])
            start = np.array(list(pending), dtype=np.int64)[number[keep]]
            done.append(_Spans(ids[keep], start + ends[keep, 0], start + ends[keep, 1]))
            pending = _split_texts(pending, number[split], ends[split, 0] + 1)
        return _sorted_spans(done)

    def _replace_unknown(self, text: str) -> str:
        """Replace characters that the vocabulary cannot encode by "?"; each distinct character is tested once."""
        unusual = list(set(text).difference(self._ordinary, SPACE_MARK if self._mark_ids else ""))
        if not unusual:
            return text
        expected = text.replace(SPACE_MARK, " ") if self._mark_ids else text
        if self._round_trip([text])[0] == expected:
            return text
        unknown = {ord(c): "?" for c, decoded in zip(unusual, self._round_trip(unusual)) if decoded != c}
        return text.translate(unknown)

    def _encodings(self, texts: list[str]) -> list[Any]:
        """Encode a single short text in this thread, others in the tokenizer's threads.

        The tokenizer's threads are slow on a busy machine; a text in this thread stops all Python threads.
        """
        if len(texts) == 1 and len(texts[0]) < LONG:
            return [self._plain_tokenizer.encode(texts[0], add_special_tokens=False)]
        return list(self._plain_tokenizer.encode_batch(texts, add_special_tokens=False))

    def _round_trip(self, texts: list[str]) -> list[str]:
        ids = [encoding.ids for encoding in self._encodings(texts)]
        if len(ids) == 1 and len(texts[0]) < LONG:
            return [self._plain_tokenizer.decode(ids[0], skip_special_tokens=False)]
        return list(self._plain_tokenizer.decode_batch(ids, skip_special_tokens=False))


def _authors(spans: _Spans, authors: np.ndarray) -> np.ndarray:
    """[N] the greatest author among the characters of each span; `authors` has one entry a character."""
    start = np.minimum(spans.start, len(authors) - 1)
    stop = np.maximum(spans.stop, start + 1)
    out = np.zeros(len(start), dtype=np.int64)
    for author in np.unique(authors):  # ascending
        count = np.concatenate([[0], np.cumsum(authors == author)])
        out[count[stop] > count[start]] = author
    return out


def _sorted_spans(spans: list[_Spans]) -> _Spans:
    joined = _Spans(*(np.concatenate([part, *parts]) for part, *parts in zip(EMPTY, *spans)))
    order = np.argsort(joined.start, kind="stable")
    return _Spans(*(part[order] for part in joined))


def _split_texts(texts: dict[int, str], number: np.ndarray, at: np.ndarray) -> dict[int, str]:
    """Split text `number` at position `at`; returns the pieces of split texts by start position."""
    cuts = dict[int, set[int]]()
    for k, position in zip(number.tolist(), at.tolist()):
        cuts.setdefault(k, set()).add(position)
    pieces = dict[int, str]()
    for k, (start, text) in enumerate(texts.items()):
        if k in cuts:
            pieces |= {start + a: text[a:b] for a, b in pairwise(sorted({0, *cuts[k], len(text)}))}
    return pieces


def encode_untrusted(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Encode text of users, tools or data.

    Args:
        tokenizer: a fast tokenizer.
        text: any text; an unpaired surrogate becomes "?".

    Returns:
        Ids that decode to `text`, without added tokens, special tokens and BOS. A character that the vocabulary cannot
        encode becomes "?".
    """
    return _encoder(tokenizer, len(tokenizer)).encode(text)


@lru_cache(maxsize=8)
def _encoder(tokenizer: PreTrainedTokenizerBase, size: int) -> SafeEncoder:
    del size  # part of the cache key: tokens may be added to a tokenizer
    return SafeEncoder(tokenizer)


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _prefix(spec: dict[str, Any]) -> Callable[[str], bool]:
    """Make a function that returns True if the tokenizer prefixes a text with a space."""
    if any(part["type"] == "Prepend" for part in _flat(spec["normalizer"])):
        return lambda text: True
    steps = _flat(spec["pre_tokenizer"])
    if any(step.get("prepend_scheme") == "always" or step.get("add_prefix_space") for step in steps):
        return lambda text: text[0] not in " " + SPACE_MARK
    return lambda text: False


def _plain_tokenizer(backend: Any, spec: dict[str, Any]) -> Any:
    """The tokenizer without added tokens, BOS, prefix space and lossy normalisers; shares the vocabulary."""
    steps_in_use = [part for part in _flat(spec["normalizer"]) if not is_mark_remover(part)]
    normalizers = [part for part in steps_in_use if part["type"] not in LOSSY]
    steps = [dict(step) for step in _flat(spec["pre_tokenizer"])]
    decoders = [dict(step) for step in _flat(spec["decoder"]) if step["type"] not in LOSSY]
    for step in [*steps, *decoders]:
        if "prepend_scheme" in step:
            step["prepend_scheme"] = "never"
        if "add_prefix_space" in step:
            step["add_prefix_space"] = False
    plain = type(backend)(backend.model)
    shell = type(backend)(type(plain.model)())
    settings = json.loads(shell.to_str()) | {
        "normalizer": {"type": "Sequence", "normalizers": normalizers} if normalizers else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps} if steps else None,
        "decoder": {"type": "Sequence", "decoders": decoders} if decoders else None,
    }
    shell = type(backend).from_str(json.dumps(settings))
    for name in spec:
        if getattr(shell, name) is not None:
            setattr(plain, name, getattr(shell, name))
    return plain


def _spec(component: Any) -> dict[str, Any] | None:
    """Specification of a tokenizer component."""
    return None if component is None else json.loads(component.__getstate__())


def _flat(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of a tokenizer component, with nested sequences flattened."""
    if component is None:
        return []
    if component["type"] != "Sequence":
        return [component]
    inner = next(value for value in component.values() if isinstance(value, list))
    return [step for part in inner for step in _flat(part)]
