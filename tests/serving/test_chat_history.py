"""Turns that come back as text get the ids that were sampled."""

from collections import Counter

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.compact import CALL, CALL_END, END, Compact
from handaxe.serving.chat_history import ChatHistory

FORMAT = Compact()
TOOL = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})
ASKED = [Message("user", "1+2?")]
ODD = [CALL, *b'add {"b": 2,   "a": 1}', CALL_END, *b" so", END]  # not how `encode_turn` writes it


def said(ids):
    parsed = FORMAT.parse(ids, [TOOL])
    return Message("assistant", parsed.text, parsed.calls)


def test_a_turn_given_out_comes_back_in_its_own_ids():
    history, reply = ChatHistory(FORMAT), Message("tool", "3", call_id="other")
    before = history.ids(ASKED, [TOOL])
    assert before == FORMAT.start(ASKED, [TOOL]).ids
    history.keep(before, said(ODD), ODD)
    came_back = Message("assistant", " so", (ToolCall("add", {"a": 1, "b": 2}, "other"),))
    whole = history.ids([*ASKED, came_back, reply], [TOOL])
    assert whole == [*before, *ODD, *FORMAT.extend([*ASKED, came_back], [reply], ODD, [TOOL]).ids]
    assert whole != FORMAT.start([*ASKED, came_back, reply], [TOOL]).ids

    answer = [*b"3", END]
    history.keep(whole, said(answer), answer)
    more = [*ASKED, came_back, reply, Message("assistant", "3"), Message("user", "and 4?")]
    assert history.ids(more, [TOOL])[: len(whole) + 2] == [*whole, *answer]


def test_what_was_said_elsewhere_or_changed_is_rendered():
    history, reply = ChatHistory(FORMAT), Message("tool", "3")
    history.keep(history.ids(ASKED, [TOOL]), said(ODD), ODD)
    for asked, turn in [
        ([Message("user", "2+1?")], said(ODD)),
        (ASKED, Message("assistant", " no", said(ODD).calls)),
        (ASKED, Message("assistant", " so", (ToolCall("add", {"a": 1, "b": 3}, "c0"),))),
    ]:
        assert history.ids([*asked, turn, reply], [TOOL]) == FORMAT.start([*asked, turn, reply], [TOOL]).ids
    twice = [*ASKED, said(ODD), said(ODD), reply]
    assert history.ids(twice, [TOOL]) == FORMAT.start(twice, [TOOL]).ids
    alone = [said(ODD), Message("user", "?")]
    assert history.ids(alone, [TOOL]) == FORMAT.start(alone, [TOOL]).ids


def test_it_is_bounded_and_forgets_the_oldest():
    history = ChatHistory(FORMAT, max_turns=3, max_ids=20)
    for k in range(10):
        ids = [*str(k).encode(), END]
        history.keep([k], said(ids), ids)
    assert len(history) == 3 and Counter(history._said.values()) == {1: 3}
    history.keep([99], Message("assistant", "long"), [*b"x" * 30, END])
    assert len(history) == 0 and not history._said and history._size == 0
    history.keep([1], said(ODD[-2:]), ODD[-2:])
    history.keep([1], said(ODD[-2:]), ODD[-2:])
    assert len(history) == 1 and history._size == 2
