import pytest
from helpers.image_records import noise
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, image_spans
from handaxe.core.records import Author, Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.compact import ASSISTANT, CALL, CALL_END, END, SYSTEM, TOOL, USER, VOCAB_SIZE, Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing import check_format


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


@pytest.mark.slow
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


# --- images --------------------------------------------------------------------------------------------------------

SEEING = Compact(TinyImageProcessor(8))


@pytest.mark.parametrize("format", [FORMAT, SEEING])
def test_compact_meets_the_contract_with_and_without_images(format):
    check_format(format, vocab_size=VOCAB_SIZE, examples=5)


def test_images_stand_bare_among_the_bytes():
    one, other = noise(0, 16, 8), noise(1, 8, 8)
    start = SEEING.start([Message.of("user", "a", one, other, "b")], [])
    assert start.ids == [USER, 97, *one.ids(2), *other.ids(1), 98, END, ASSISTANT]
    assert start.authors == [0, 1, 1, 1, 1, 1, 0, 0]
    assert SEEING.decode(start.ids) == f"<USER>a{PLACEHOLDER}{PLACEHOLDER}b<END><ASSISTANT>"
    reply = SEEING.extend([], [Message.of("tool", "cut: ", one)], [END], TOOLS)
    assert reply.ids == [TOOL, *b"cut: ", *one.ids(2), END, ASSISTANT]
    assert reply.authors == [0, *[int(Author.TOOL)] * 7, 0, 0]


@given(st.lists(st.one_of(st.text(max_size=4), st.integers(0, 2)), max_size=8))
def test_any_texts_and_images_render_in_order(parts):  # traps 2 and 8
    images = [noise(0, 16, 8), noise(1, 16, 8), noise(2, 8, 8)]
    given_parts = [images[part] if isinstance(part, int) else part for part in parts]
    start = SEEING.start([Message.of("user", *given_parts)], [])
    assert [key for _, _, key in image_spans(start.ids)] == [images[p].key for p in parts if isinstance(p, int)]


def test_image_that_is_too_large_is_refused():
    with pytest.raises(InputError, match="too large for this tiny policy"):
        SEEING.start([Message.of("user", noise(0, 200, 8))], [])


def test_image_tokens_in_a_turn_are_no_text():  # trap 3
    """Image ids lie outside the vocabulary, so no policy samples them; a parser ignores them."""
    image = noise(0, 16, 8)
    parsed = SEEING.parse([*b"a", *image.ids(2), *b"b", END], [])
    assert (parsed.text, parsed.calls, parsed.errors) == ("ab", (), ())
    assert not any(token >= VOCAB_SIZE for token in SEEING.stop_ids | SEEING.header_ids)
