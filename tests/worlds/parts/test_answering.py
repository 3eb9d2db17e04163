from handaxe.core.records import ToolCall, ToolReply
from handaxe.testing.records import make_trajectory
from handaxe.worlds.parts.answering import answer, given_answer, handed_in


def attempt(status, said="9"):
    call, reply = ToolCall("answer", {"text": " 7 "}, "a"), ToolReply("a", "answer", "7", status)
    return make_trajectory(texts=["", said], calls=[[call], []], replies=[[reply], []])


def test_what_the_tool_took_goes_before_what_was_said():
    assert answer.schema.name == "answer" and answer("7") == "7"
    assert handed_in(attempt("ok")) == given_answer(attempt("ok")) == "7"
    assert handed_in(attempt("invalid")) == "" and given_answer(attempt("invalid")) == "9"
    assert given_answer(attempt("invalid", said="")) == ""
