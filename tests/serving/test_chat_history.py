"""Turns returned as text get their sampled ids."""

import hashlib
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.compact import CALL, CALL_END, END, Compact
from handaxe.models.chat_formats.safe_encoder import TooManyIds
from handaxe.serving import chat_history
from handaxe.serving.chat_history import ChatHistory

FORMAT = Compact()
TOOL = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})
QUESTION = [Message("user", "1+2?")]
SAMPLED = [CALL, *b'add {"b": 2,   "a": 1}', CALL_END, *b" so", END]  # differs from the ids of `encode_turn`


def parse_message(ids):
    parsed = FORMAT.parse(ids, [TOOL])
    return Message("assistant", parsed.text, parsed.calls)


def test_returned_turn_gets_its_sampled_ids():
    history, reply = ChatHistory(FORMAT), Message("tool", "3", call_id="other")
    opening = history.ids(QUESTION, [TOOL])
    assert opening == FORMAT.start(QUESTION, [TOOL]).ids
    history.add(opening, parse_message(SAMPLED), SAMPLED)
    returned = Message("assistant", " so", (ToolCall("add", {"a": 1, "b": 2}, "other"),))
    extended = history.ids([*QUESTION, returned, reply], [TOOL])
    assert extended == [*opening, *SAMPLED, *FORMAT.extend([*QUESTION, returned], [reply], SAMPLED, [TOOL]).ids]
    assert extended != FORMAT.start([*QUESTION, returned, reply], [TOOL]).ids

    answer = [*b"3", END]
    history.add(extended, parse_message(answer), answer)
    more = [*QUESTION, returned, reply, Message("assistant", "3"), Message("user", "and 4?")]
    assert history.ids(more, [TOOL])[: len(extended) + 2] == [*extended, *answer]


def test_changed_or_unknown_turns_are_rendered():
    history, reply = ChatHistory(FORMAT), Message("tool", "3")
    history.add(history.ids(QUESTION, [TOOL]), parse_message(SAMPLED), SAMPLED)
    for question, turn in [
        ([Message("user", "2+1?")], parse_message(SAMPLED)),
        (QUESTION, Message("assistant", " no", parse_message(SAMPLED).calls)),
        (QUESTION, Message("assistant", " so", (ToolCall("add", {"a": 1, "b": 3}, "c0"),))),
    ]:
        assert history.ids([*question, turn, reply], [TOOL]) == FORMAT.start([*question, turn, reply], [TOOL]).ids
    twice = [*QUESTION, parse_message(SAMPLED), parse_message(SAMPLED), reply]
    assert history.ids(twice, [TOOL]) == FORMAT.start(twice, [TOOL]).ids
    turn_first = [parse_message(SAMPLED), Message("user", "?")]
    assert history.ids(turn_first, [TOOL]) == FORMAT.start(turn_first, [TOOL]).ids


def test_oldest_turns_are_evicted_at_the_limits():
    history = ChatHistory(FORMAT, max_turns=3, max_ids=20)
    for k in range(10):
        ids = [*str(k).encode(), END]
        history.add([k], parse_message(ids), ids)
    assert len(history) == 3 and Counter(history._message_counts.values()) == {1: 3}
    history.add([99], Message("assistant", "long"), [*b"x" * 30, END])
    assert len(history) == 0 and not history._message_counts and history._size == 0
    history.add([1], parse_message(SAMPLED[-2:]), SAMPLED[-2:])
    history.add([1], parse_message(SAMPLED[-2:]), SAMPLED[-2:])
    assert len(history) == 1 and history._size == 2


class Counted(Compact):
    """Counts calls of `extend`."""

    extended = 0

    def extend(self, history, new, last_ids, tools):
        self.extended += 1
        return super().extend(history, new, last_ids, tools)


def long_chat(history, count):
    """A conversation of `count` turns after a turn of the server."""
    ids = [*b"c", END]
    history.add(history.ids(QUESTION, [TOOL]), Message("assistant", "c"), ids)
    return [*QUESTION, *[Message("assistant", "c"), Message("user", "b")] * count]


def test_each_id_is_hashed_once(monkeypatch):
    history, hashed = ChatHistory(FORMAT), []
    chat = long_chat(history, 300)

    class Hash:
        def __init__(self, data=b""):
            self.inner = hashlib.sha256()
            self.update(data)

        def update(self, data):
            hashed.append(len(data))
            self.inner.update(data)

        def copy(self):
            return SimpleNamespace(digest=self.inner.digest)

        def digest(self):
            return self.inner.digest()

    monkeypatch.setattr(chat_history, "hashlib", SimpleNamespace(sha256=Hash))
    ids = history.ids(chat, [TOOL])
    text = sum(len(f'["{message.content}", []]') for message in chat if message.role == "assistant")
    assert sum(hashed) == len(ids) * np.dtype(np.int64).itemsize + text


def test_conversation_above_the_context_length_is_not_extended():
    format = Counted()
    history = ChatHistory(format, max_length=100)
    chat = long_chat(history, 300)
    assert history.ids(chat, [TOOL]) == FORMAT.start(chat, [TOOL]).ids
    assert 0 < format.extended < 20


class Refusing(Counted):
    """Raises TooManyIds in `extend`, as an encoder does for a text above the context length."""

    def extend(self, history, new, last_ids, tools):
        raise TooManyIds(200)


def test_turn_with_a_text_above_the_context_length_is_rendered_without_stored_turns():
    history = ChatHistory(Refusing(), max_length=100)
    chat = long_chat(history, 2)
    assert history.ids(chat, [TOOL]) == FORMAT.start(chat, [TOOL]).ids


def test_steps_extend_by_one_turn():
    format = Counted()
    history = ChatHistory(format)
    chat, counts = long_chat(history, 30), []
    for ids in history.steps(chat, [TOOL]):
        counts.append(format.extended)
    assert ids == history.ids(chat, [TOOL]) and max(b - a for a, b in zip(counts, counts[1:])) == 1


@pytest.mark.parametrize("turns", [2, 5])
def test_steps_and_turn_by_turn_history_agree(turns):
    history, chat = ChatHistory(FORMAT), list(QUESTION)
    for k in range(turns):
        ids = history.ids(chat, [TOOL])
        sampled = [*b"a " * (k + 1), END]
        history.add(ids, parse_message(sampled), sampled)
        chat += [parse_message(sampled), Message("user", "b")]
        assert history.ids(chat, [TOOL])[: len(ids) + len(sampled)] == [*ids, *sampled]
