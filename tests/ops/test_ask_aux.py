import pytest

from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.core.requests import AuxRequest
from handaxe.ops.ask_aux import NoReply, ask_aux

CALL = ParsedTurn("", (ToolCall("calculator", {"expression": "2+3"}, "c0"),))
REQUEST = AuxRequest("a", ())


def answered(replies, *, calls=False):
    """The result after these replies, and the number of requests."""
    asking = ask_aux(REQUEST, calls=calls)
    assert next(asking) == REQUEST
    for count, reply in enumerate(replies, start=1):
        try:
            assert asking.send(reply) == REQUEST
        except StopIteration as over:
            return over.value, count
    raise AssertionError("it asks again")


def test_an_empty_reply_is_asked_again_once():
    assert answered([ParsedTurn("408")]) == (ParsedTurn("408"), 1)
    assert answered([ParsedTurn(" "), ParsedTurn("408")]) == (ParsedTurn("408"), 2)
    with pytest.raises(NoReply, match="'a' gave no reply"):
        answered([ParsedTurn(""), ParsedTurn("\n")])


def test_a_reply_of_calls_counts_on_request():
    assert answered([CALL], calls=True) == (CALL, 1)
    assert answered([CALL, ParsedTurn("5")]) == (ParsedTurn("5"), 2)
