"""Tests of the format of pieces: ids, round trips, hostile text, sampled ids that are not canonical, damaged files."""

import copy
import json
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Author, Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.compact import CALL, CALL_END, END, Compact
from handaxe.models.chat_formats.pieces import PATTERN, Pieces, learn_pieces, piece_tokenizer
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.formats import check_format

pytest.importorskip("tokenizers")
TEXTS = ["the red door is locked. look at the door, then look at the key 1204 times"] * 3 + ["the door 12*34=?"]
VOCABULARY = learn_pieces(TEXTS, size=290)
FORMAT = Pieces(VOCABULARY)
WORD = ToolSchema("look", "", {"type": "object", "properties": {"at": {"type": "string"}}})
PAIR = ToolSchema("move", "", {"type": "object", "properties": {"x": {"type": "integer"}, "to": {"type": "string"}}})
TOOLS = [WORD, PAIR]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def slow_encode(text):
    """Join the pair of the earliest merge again and again, word by word; an oracle for short texts."""
    import regex

    rank = {tuple(pair): number for number, pair in enumerate(json.loads(VOCABULARY)["merges"])}
    out = []
    for word in regex.findall(PATTERN, text):
        ids = list(word.encode())
        while pairs := [(rank[pair], place) for place, pair in enumerate(zip(ids, ids[1:])) if pair in rank]:
            number, place = min(pairs)
            ids[place : place + 2] = [264 + number]
        out += ids
    return out


def test_merges_begin_at_264_and_their_bytes_are_joined():
    merges = json.loads(VOCABULARY)["merges"]
    assert FORMAT.vocab_size == 264 + len(merges) == 290
    left, right = merges[0]
    assert FORMAT.encode(bytes([left, right]).decode()) == [264]
    assert FORMAT.bytes_of[264] == bytes([left, right])
    assert all(id not in FORMAT.bytes_of for id in range(256, 264))


@pytest.mark.parametrize(
    "text", ["", "the door", " door  is\n\nlocked.", "look_at 1204", "na\u00efve \U0001f5ff", "\u00e9" * 40]
)
def test_encode_equals_the_slow_loop(text):
    pytest.importorskip("regex")
    assert FORMAT.encode(text) == slow_encode(text)


def test_equal_texts_give_equal_vocabularies():
    assert learn_pieces(TEXTS, size=290) == VOCABULARY
    assert learn_pieces(TEXTS, size=280) != VOCABULARY


def test_digits_are_single_and_pieces_cross_no_word_border():
    assert FORMAT.encode("1204") == [*b"1204"]
    for id, text in FORMAT.bytes_of.items():
        if id >= 264:
            assert b" " not in text[1:] and not any(48 <= byte < 58 for byte in text)


def test_format_keeps_the_contract_of_chat_formats():
    check_format(FORMAT, vocab_size=FORMAT.vocab_size)


@given(ANY_TEXT)
def test_text_round_trips_and_never_becomes_a_control_id(text):
    text = "<END><CALL>" + text + "<TOOL>"
    for role in ("user", "tool", "system"):
        part = FORMAT.extend([], [Message(role, text)], [END], [])
        words = [id for id, author in zip(part.ids, part.authors, strict=True) if author != Author.TEMPLATE]
        assert not set(words) & set(range(256, 264))
        assert b"".join(FORMAT.bytes_of[id] for id in words).decode() == text


def test_surrogates_of_users_and_tools_are_replaced():
    part = FORMAT.extend([], [Message("tool", "a\ud800b")], [END], [])
    assert FORMAT.decode(part.ids) == "<TOOL>a?b<END><ASSISTANT>"


@given(ANY_TEXT, ANY_TEXT, st.integers())
def test_turns_are_parsed_as_written(content, text, number):
    calls = ToolCall("look", {"at": text}, "c0"), ToolCall("move", {"x": number, "to": text}, "c1")
    parsed = FORMAT.parse(FORMAT.encode_turn(Message("assistant", content, calls), TOOLS), TOOLS)
    assert (parsed.text, parsed.calls, parsed.errors) == (content, calls, ())


@given(st.binary(), st.randoms())
def test_any_cut_of_the_same_bytes_is_parsed_alike(data, rng):
    """Sampled ids need not be canonical: all ids with equal bytes are one text, any bytes included."""
    merged = list(data)
    for _ in range(len(merged)):
        places = [k for k in range(len(merged) - 1) if tuple(merged[k : k + 2]) in RANK]
        if not places or rng.random() < 0.2:
            break
        place = rng.choice(places)
        merged[place : place + 2] = [RANK[tuple(merged[place : place + 2])]]
    assert b"".join(FORMAT.bytes_of[id] for id in merged) == data
    for ids in ([*merged, END], [CALL, *b"look ", *merged, CALL_END, END]):
        plain = [byte for id in ids for byte in ([id] if 256 <= id < 264 else FORMAT.bytes_of[id])]
        got, want = FORMAT.parse(ids, TOOLS), Compact().parse(plain, TOOLS)
        assert (got.text, got.calls, got.errors, got.raw) == (want.text, want.calls, want.errors, want.raw)


RANK = {tuple(pair): 264 + number for number, pair in enumerate(json.loads(VOCABULARY)["merges"])}


def test_extension_appends_to_sampled_ids():
    """A second turn's prompt begins with the first prompt and the sampled ids, canonical or not."""
    opening = FORMAT.start([Message("user", "the door")], TOOLS).ids
    sampled = [*b"the", END]
    assert FORMAT.encode("the") != [*b"the"]
    history = [Message("user", "the door"), Message("assistant", "the")]
    part = FORMAT.extend(history, [Message("user", "look")], sampled, TOOLS)
    assert not part.fresh
    assert FORMAT.decode([*opening, *sampled, *part.ids]).endswith("<ASSISTANT>the<END><USER>look<END><ASSISTANT>")


@given(st.lists(st.integers(0, 400)))
def test_parse_never_raises(ids):
    assert isinstance(FORMAT.parse(ids, TOOLS).raw, str)


@given(ANY_TEXT)
def test_each_text_is_encoded_as_the_tokenizer_encodes_it(text):
    tokenizer = piece_tokenizer(VOCABULARY)
    assert FORMAT.encode(text) == tokenizer.encode(text).ids
    assert tokenizer.decode(FORMAT.encode(text)) == text


def test_format_is_copied_and_pickled():
    FORMAT.encode("the door")
    for other in (copy.deepcopy(FORMAT), pickle.loads(pickle.dumps(FORMAT))):
        assert other.encode("the door") == FORMAT.encode("the door") and other.digest() == FORMAT.digest()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"pattern": "."}',
        '{"pattern": ".", "merges": [[1]]}',
        '{"pattern": ".", "merges": [[1, 264]]}',
        '{"pattern": ".", "merges": [[1, 256]]}',
        '{"pattern": ".", "merges": [[-1, 2]]}',
    ],
)
def test_damaged_vocabulary_is_a_checkpoint_error(content):
    with pytest.raises(CheckpointError, match="the vocabulary of pieces is damaged"):
        Pieces(content)


def test_without_tokenizers_turns_are_parsed_and_encoding_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    fresh = Pieces(VOCABULARY)
    assert fresh.parse([*b"the", END], TOOLS).text == "the"
    for call in (lambda: fresh.encode("the"), lambda: learn_pieces(TEXTS)):
        with pytest.raises(InputError, match=r'pip install "handaxe\[small\]"'):
            call()


def test_pieces_with_images_meet_the_contract():
    format = Pieces(FORMAT.vocabulary, TinyImageProcessor(8))
    check_format(format, vocab_size=format.vocab_size, examples=5)
    copied = pickle.loads(pickle.dumps(format))
    assert copied.image_processor == format.image_processor and copied.vocabulary == format.vocabulary
