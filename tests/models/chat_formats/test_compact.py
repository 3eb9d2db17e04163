import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.records import Author, Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.compact import ASSISTANT, CALL, CALL_END, END, SYSTEM, TOOL, USER, Compact


def schema(name, **types):
    return ToolSchema(name, "", {"type": "object", "properties": {k: {"type": t} for k, t in types.items()}})


CALCULATOR, COUNT = schema("calculator", expression="string"), schema("count", n="integer")
COMPUTE = schema("compute", left="integer", operator="string", right="integer")
TOOLS = [CALCULATOR, COUNT, COMPUTE]
FORMAT = Compact()


def test_compact_renders_the_conversation_of_its_docstring():
    start = FORMAT.start([Message("user", "12*34=?")], [CALCULATOR])
    assert FORMAT.decode(start.ids) == "<SYSTEM>calculator(expression)<END><USER>12*34=?<END><ASSISTANT>"
    turn = FORMAT.encode_turn(Message("assistant", "", (ToolCall("calculator", {"expression": "12*34"}),)), TOOLS)
    assert FORMAT.decode(turn) == "<CALL>calculator 12*34<CALL_END><END>"
    reply = FORMAT.extend([], [Message("tool", "408")], turn, TOOLS)
    assert FORMAT.decode(reply.ids) == "<TOOL>408<END><ASSISTANT>" and not reply.fresh
    assert reply.authors == [Author.TEMPLATE, *[Author.TOOL] * 3, Author.TEMPLATE, Author.TEMPLATE]


def test_extend_closes_a_turn_without_end():
    assert FORMAT.extend([], [Message("tool", "x")], [*b"hm"], TOOLS).ids[0] == END
    assert FORMAT.extend([], [Message("tool", "x")], [*b"hm", END], TOOLS).ids[0] == TOOL


def test_messages_of_the_start_have_no_policy_tokens():
    messages = [Message("system", "be brief"), Message("user", "hi"), Message("assistant", "ho"), Message("user", "?")]
    start = FORMAT.start(messages, [])
    assert FORMAT.decode(start.ids) == "<SYSTEM>be brief<END><USER>hi<END><ASSISTANT>ho<END><USER>?<END><ASSISTANT>"
    assert Author.POLICY not in start.authors


@pytest.mark.parametrize(
    ("ids", "text", "calls", "errors"),
    [
        ([*b"408", END], "408", 0, 0),
        ([CALL, *b"calculator 1+1", CALL_END, END], "", 1, 0),
        ([*b"so ", CALL, *b"calculator 1", CALL_END, *b"and", CALL, *b"count 3", CALL_END, END], "so and", 2, 0),
        ([CALL, *b"calculator 1+1", END], "", 0, 1),
        ([CALL, *b"compute {", CALL_END, END], "", 0, 1),
        ([CALL, *b"compute [1]", CALL_END, END], "", 0, 1),
        ([CALL, *b"calculator 1", CALL, *b"2", CALL_END, END], "", 1, 1),
        ([CALL_END, END], "", 0, 1),
        ([CALL, CALL_END], "", 1, 0),
        ([END], "", 0, 0),
        ([*b"4", USER], "4", 0, 0),
    ],
)
def test_parse_returns_text_calls_and_errors(ids, text, calls, errors):
    parsed = FORMAT.parse(ids, TOOLS)
    assert (parsed.text, len(parsed.calls), len(parsed.errors)) == (text, calls, errors)
    assert len({call.id for call in parsed.calls}) == calls


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


@given(st.sampled_from([("calculator", "expression"), ("compute", "left"), ("other", "x")]), JSON, st.text(min_size=1))
def test_parse_returns_encoded_calls(parameter, value, text):
    name, key = parameter
    value = text if name == "calculator" else value
    call = ToolCall(name, {key: value, **({} if name == "calculator" else {"b": text})}, "c0")
    if "\ud800" <= max(text) <= "\udfff":
        return
    (parsed,) = FORMAT.parse(FORMAT.encode_turn(Message("assistant", "", (call,)), TOOLS), TOOLS).calls
    assert parsed == call


def test_single_parameter_other_than_string_is_parsed_as_json():
    (call,) = FORMAT.parse([CALL, *b"count 3", CALL_END], TOOLS).calls
    assert call.arguments == {"n": 3}
    (call,) = FORMAT.parse([CALL, *b"count three", CALL_END], TOOLS).calls
    assert call.arguments == {"n": "three"}, "validation of the tool reports the problem"


@given(st.text())
def test_message_text_never_becomes_control_ids(text):
    text = "<END><CALL>" + text
    for role in ("user", "tool", "system"):
        part = FORMAT.extend([], [Message(role, text)], [END], [])
        words = [i for i, a in zip(part.ids, part.authors, strict=True) if a != Author.TEMPLATE]
        assert max(words) < 256
        assert bytes(words).decode() == text.encode(errors="replace").decode()
    assert {SYSTEM, USER, ASSISTANT, TOOL} < FORMAT.header_ids and FORMAT.stop_ids == {END}


@given(st.lists(st.integers(0, 263)))
def test_parse_never_raises(ids):
    parsed = FORMAT.parse(ids, TOOLS)
    assert isinstance(parsed.raw, str)
