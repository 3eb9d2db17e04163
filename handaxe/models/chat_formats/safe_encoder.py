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

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image, is_image_id, token_number
from handaxe.core.records import Author
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.bare_tokenizer import (
    SPACE_MARK,
    adds_prefix_space,
    component_spec,
    plain_tokenizer,
)
from handaxe.models.chat_formats.token_names import TokenNames

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from handaxe.models.image_processors import ProcessorImages

__all__ = ["Part", "PlainTokenization", "SafeEncoder", "THINKING", "TooManyIds", "at_most", "encode_untrusted"]

THINKING = ("<think>", "</think>")
LONG = 20_000
"""Characters of a text that takes some 10 ms to encode."""
PRINTABLE = "".join(map(chr, range(33, 127)))
ORDINARY = f"{PRINTABLE}\n  {{'a': [1, 2]}}\n\nWords are   spaced. {PRINTABLE[::-1]}"
"""Ordinary characters of chats; a tokenizer that does not round-trip them cannot represent calls."""


_MOST: ContextVar[int] = ContextVar("most_ids", default=2**62)


class TooManyIds(InputError):
    """Text with more ids than `at_most` allows; `count` is a lower bound of its ids."""

    def __init__(self, count: int):
        super().__init__(f"the text has at least {count} tokens: shorten it")
        self.count = count


@contextmanager
def at_most(ids: int) -> Iterator[None]:
    """Context manager: a text with more ids raises TooManyIds before its ids are read.

    The tokenizer encodes a long text beside other threads. The ids and positions become Python lists, which stops all
    threads for some 50 ms for each 100,000 ids.
    """
    token = _MOST.set(ids)
    try:
        yield
    finally:
        _MOST.reset(token)


class Part(NamedTuple):
    """A part of a message: text, or an image. Names of control tokens become control ids in trusted parts only."""

    text: str
    author: Author = Author.TEMPLATE
    trusted: bool = True
    image: Image | None = None


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
        image_processor: of the model; None for a model without vision.

    Attributes:
        placeholder: text of an image in a rendered template; "" without an image processor.
        control: name -> id of control tokens. Tokens that consist of white space are text.
        special: name -> id of the special tokens among them.
        names: search for names of control tokens.
        markers: search for thought tags and names of non-special control tokens, such as call tags.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, image_processor: ProcessorImages | None = None):
        self.image_processor = image_processor
        self.placeholder = "" if image_processor is None else image_processor.placeholder
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
        tags = {*named, *THINKING} - {*self.special, self.placeholder}
        self.markers = TokenNames(dict.fromkeys(sorted(tags), (False, False)))
        self._is_control = np.zeros(max(len(tokenizer), *named.values(), 0) + 1, dtype=np.bool_)
        self._is_control[list(named.values())] = True
        backend = tokenizer.backend_tokenizer
        spec = {name: component_spec(getattr(backend, name)) for name in ("normalizer", "pre_tokenizer", "decoder")}
        self._prefix = adds_prefix_space(spec)
        self._plain_tokenizer = plain_tokenizer(backend, spec)
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
        """Ids of the parts with their authors; an id across two parts gets the untrusted author.

        Raises:
            TooManyIds: more ids than `at_most` allows.
        """
        out, run = Rendered([], []), list[Part]()
        for part in parts:
            if part.image is not None:
                assert self.image_processor is not None, "a part with an image needs an image processor"
                self._flush(run, out)
                run, ids = [], self.image_processor.token_ids(part.image)
                out.ids.extend(ids)
                out.authors.extend([int(part.author)] * len(ids))
                continue
            end = 0
            for name in self.names.find(part.text) if part.trusted else ():
                self._flush([*run, Part(part.text[end : name.start], part.author)], out)
                _check_count(len(out.ids))
                run, end = [], name.stop
                out.ids.append(self.control[name.name])
                out.authors.append(int(Author.TEMPLATE))
            run.append(Part(part.text[end:], part.author))
        self._flush(run, out)
        _check_count(len(out.ids))
        return out

    def mark(self, text: str, author: Author = Author.TEMPLATE) -> list[Part]:
        """Split text of a policy into parts: thought and call tags are trusted, roles and end tokens are not."""
        parts, end = [], 0
        for tag in self.markers.find(text):
            parts += [Part(text[end : tag.start], author, False), Part(tag.name, author)]
            end = tag.stop
        return [part for part in [*parts, Part(text[end:], author, False)] if part.text]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, with control tokens by name, and each image as one PLACEHOLDER."""
        if self.image_processor is not None and len(ids) and is_image_id(max(ids)):
            runs = groupby(ids, key=is_image_id)
            return "".join(_placeholders(run) if shows else self.decode(list(run)) for shows, run in runs)
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def plain(self) -> PlainTokenization:
        """Specification of this encoder's text processing, for an exported tokenizer."""
        steps = {name: component_spec(getattr(self._plain_tokenizer, name)) for name in ("normalizer", "pre_tokenizer")}
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
            _check_count(sum(map(len, encodings)))
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
        encodings = self._encodings(texts)
        if len(texts) == 1:
            _check_count(len(encodings[0]))
        ids = [encoding.ids for encoding in encodings]
        if len(ids) == 1 and len(texts[0]) < LONG:
            return [self._plain_tokenizer.decode(ids[0], skip_special_tokens=False)]
        return list(self._plain_tokenizer.decode_batch(ids, skip_special_tokens=False))


def _check_count(count: int) -> None:
    if count > _MOST.get():
        raise TooManyIds(count)


def _placeholders(ids: Iterable[int]) -> str:
    """One PLACEHOLDER for each image."""
    return PLACEHOLDER * sum(token_number(token) == 0 for token in ids)


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
