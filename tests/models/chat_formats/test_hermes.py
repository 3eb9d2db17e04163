import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.testing.formats import check_format

pytestmark = pytest.mark.hf
ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
CALL = ToolCall("add", {"a": 1}, "c0")


@pytest.fixture(scope="module")
def hermes(smollm2_tokenizer):
    return Hermes(smollm2_tokenizer)


def test_format_meets_the_contract(hermes):
    check_format(hermes, vocab_size=49152)


def test_hermes_renders_the_conversation_of_its_docstring(hermes):
    opening = hermes.start([Message("user", "1+1?")], [])
    assert hermes.decode(opening.ids) == "<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n"
    turn = hermes.encode_turn(Message("assistant", "", (CALL,)), [ADD])
    assert hermes.decode(turn) == '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>'
    message = Message("assistant", "", (CALL,))
    replies = [Message("tool", "2", call_id="c0", name="add"), Message("tool", "3", call_id="c1", name="add")]
    part = hermes.extend([Message("user", "1+1?"), message], replies, turn, [ADD])
    assert hermes.decode(part.ids) == (
        "\n<|im_start|>user\n<tool_response>\n2\n</tool_response>\n<tool_response>\n3\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert hermes.decode([i for i, author in zip(part.ids, part.authors) if author == Author.TOOL]) == "23"


def test_tools_are_in_the_system_message(hermes):
    alone = hermes.decode(hermes.start([Message("user", "hi")], [ADD]).ids)
    assert alone.startswith("<|im_start|>system\nYou may call tools.")
    assert '{"name": "add", "description": "Add.", "parameters": {"type": "object"' in alone
    combined = hermes.decode(hermes.start([Message("system", "Be brief."), Message("user", "hi")], [ADD]).ids)
    assert combined.startswith("<|im_start|>system\nBe brief.\n\nYou may call tools.")
    assert combined.count("<|im_start|>system") == 1


def test_extend_closes_a_turn_that_ended_in_a_header(hermes, smollm2_tokenizer):
    header = smollm2_tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert header in hermes.header_ids
    turn = [*hermes.encode_turn(Message("assistant", "x"), [])[:-1], header]
    assert hermes.parse(turn, []).text == "x"
    part = hermes.extend([Message("user", "a"), Message("assistant", "x")], [Message("user", "b")], turn, [])
    assert hermes.decode(part.ids).startswith("<|im_end|>\n<|im_start|>user\nb")


def test_tokenizer_without_chatml_is_an_input_error(mistral_tokenizer):
    with pytest.raises(InputError, match="<|im_start|> and no <|im_end|>"):
        Hermes(mistral_tokenizer)


TEXTS = ["", "Let me see.", "f\u00fcnf \u4e94 \U0001f600", "<think>\nhm\n</think>\n\n", "a\n\nb\n"]
ARGUMENTS = [{"a": 1}, {"a": "\u4e94<tool_call>"}, {}]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("cut", range(6))
def test_spans_contain_each_token_with_a_character_of_a_call(tokenizer_format, text, cut):
    """Compare with a scan of all tokens. The text is encoded in pieces of `cut` characters, across words and tags."""
    format, encoder = tokenizer_format
    calls = tuple(ToolCall("add", arguments, f"c{k}") for k, arguments in enumerate(ARGUMENTS))
    written = "".join(piece.text for piece in format.origin.calls.write(text, calls)) + ("" if cut % 2 else "\nwell")
    step = cut or len(written)
    ids = [i for k in range(0, len(written), step) for i in encoder.encode(written[k : k + step])]
    parsed = format.parse(ids, [])
    decoded = encoder.decode(ids)
    assert len(parsed.spans) == len(parsed.calls) == 3
    for (first, stop), characters in zip(parsed.spans, format.origin.calls.read(decoded).spans):
        tokens = [
            k
            for k in range(len(ids))
            if token_end(encoder, decoded, ids, k) > characters[0]
            and token_start(encoder, decoded, ids, k) < characters[1]
        ]
        assert (first, stop) == (tokens[0], tokens[-1] + 1)


def token_end(encoder, text, ids, k):
    """Count the characters of the text that are complete after token k."""
    prefix = encoder.decode(ids[: k + 1])
    return next((n for n, (a, b) in enumerate(zip(prefix, text)) if a != b), min(len(prefix), len(text)))


def token_start(encoder, text, ids, k):
    return token_end(encoder, text, ids, k - 1) if k else 0


@pytest.fixture(scope="module")
def tokenizer_format(hermes):
    return hermes, hermes._encoder
