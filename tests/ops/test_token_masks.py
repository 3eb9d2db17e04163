"""Token positions of calls, for every chat format that reports spans."""

import pytest

from handaxe.core.records import Message, Task, ToolCall, ToolSchema
from handaxe.models.chat_formats.compact import CALL, CALL_END, Compact
from handaxe.ops.token_masks import tool_call_tokens
from handaxe.training.sft.scripted import trajectory_from_messages

ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"x": {"type": "string"}}})


def test_tool_call_tokens_include_delimiters():
    one = trajectory_from_messages(
        Compact(),
        [Message("user", "?"), Message("assistant", "So ", (ToolCall("add", {"x": "1"}),))],
        [ADD],
        task=Task("t", ()),
    )
    ids = one.sequences[0].ids[one.turns[0].start :]
    chosen = tool_call_tokens()(one)
    assert ids[chosen].tolist() == [CALL, *b"add 1", CALL_END] and chosen.tolist() == [False] * 3 + [True] * 7 + [False]


@pytest.mark.parametrize(
    "ids, spans",
    [
        ([*b"a", CALL, *b"add 1", CALL_END, *b"b", CALL, *b"add 2", CALL_END], ((1, 8), (9, 16))),
        ([CALL, *b"sub {", CALL_END, CALL, *b"add 2", CALL_END], ((7, 14),)),
        ([CALL, *b"add 1"], ()),
        ([CALL_END, CALL, CALL, *b"add 1", CALL_END], ((1, 9),)),
        ([], ()),
    ],
)
def test_compact_reports_spans_of_well_formed_calls(ids, spans):
    parsed = Compact().parse(ids, [ADD])
    assert parsed.spans == spans and len(parsed.calls) == len(spans)
