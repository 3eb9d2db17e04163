"""Text of a growing turn is streamed once and in order; calls and the finish reason follow at the end."""

import json

import pytest

from handaxe.core.records import ToolSchema
from handaxe.core.requests import Completion
from handaxe.models.chat_formats.compact import CALL, CALL_END, END, Compact
from handaxe.serving.streamed_turn import StreamedTurn

TOOL = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})
CALL_IDS = [CALL, *b'add {"a": 1, "b": 2}', CALL_END]


def completion(ids, finish="length"):
    logp = [-0.5] * len(ids)
    return Completion(list(ids), logp, logp, [0] * len(ids), finish)


def stream(turn, ids, finish="stop"):
    """Update a turn token by token; returns the streamed parts and the choice."""
    parts = []
    for n in range(1, len(ids) + 1):
        turn.update(completion(ids[:n], finish if n == len(ids) else "length"))
        if turn.stopped:
            break
        parts.append(turn.new_text())
    choice = turn.choice()
    return [*parts, turn.new_text(), turn.remaining_text(choice)], choice


def test_text_is_streamed_once_and_completely():
    turn = StreamedTurn(Compact(), [TOOL])
    parts, choice = stream(turn, [*"Gr\u00fc\u00dfe, 12".encode(), END])
    assert "".join(parts) == choice.content == "Gr\u00fc\u00dfe, 12" and len([part for part in parts if part]) > 2
    assert choice.finish == "stop" and not choice.calls and choice.tokens == len("Gr\u00fc\u00dfe, 12".encode()) + 1
    assert turn.message.content == "Gr\u00fc\u00dfe, 12"


def test_calls_follow_the_text_and_are_never_streamed_as_text():
    parts, choice = stream(StreamedTurn(Compact(), [TOOL]), [*b"Let me see. ", *CALL_IDS, END])
    assert "".join(parts).strip() == choice.content.strip() == "Let me see."
    assert choice.finish == "tool_calls"
    ((_, name, arguments),) = choice.calls
    assert (name, json.loads(arguments)) == ("add", {"a": 1, "b": 2})


def test_truncated_turn_has_no_calls_and_its_whole_text():
    turn = StreamedTurn(Compact(), [TOOL])
    parts, choice = stream(turn, [*b"Sum: ", *CALL_IDS[:-3]], finish="length")
    assert choice.finish == "length" and not choice.calls and turn.message is None
    assert choice.content.startswith("Sum: ") and 'add {"a": 1' in choice.content
    assert "".join(parts) == choice.content


@pytest.mark.parametrize("stop, text", [(["lo"], "hel"), (["x", "l"], "he"), (["hello wor"], ""), (["zz"], None)])
def test_stop_string_ends_the_answer_before_its_first_occurrence(stop, text):
    turn = StreamedTurn(Compact(), [], stop)
    parts, choice = stream(turn, [*b"hello world", END])
    want = "hello world" if text is None else text
    assert "".join(parts) == choice.content == want
    assert choice.finish == "stop" and turn.stopped == (text is not None)


def test_choice_lists_log_probs_on_request():
    turn = StreamedTurn(Compact(), [])
    turn.update(completion([*b"ok", END], "stop"))
    assert turn.choice().logprobs is None
    assert turn.choice(logprobs=True).logprobs == [
        ("o", -0.5, True, []),
        ("k", -0.5, True, []),
        ("<END>", -0.5, False, []),
    ]


def test_choice_lists_alternatives_with_their_bytes():
    turn = StreamedTurn(Compact(), [])
    turn.update(completion([*b"o"])._replace(top=[[(ord("o"), -0.5), (0xC3, -1.0), (END, -float("inf"))]]))
    (found,) = turn.choice(logprobs=True).logprobs
    assert found.entry() == {"token": "o", "logprob": -0.5, "bytes": [111]}
    assert [one.entry() for one in found.top] == [
        {"token": "o", "logprob": -0.5, "bytes": [111]},
        {"token": "\ufffd", "logprob": -1.0, "bytes": None},
        {"token": "<END>", "logprob": -9999.0, "bytes": None},
    ], "a part of a character and a control token have no bytes; JSON has no infinity"
