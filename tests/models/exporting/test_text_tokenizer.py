"""Tests that template and tokenizer of an export give the ids of training, for any text of users and tools."""

import copy

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.exporting.byte_format import byte_template, byte_tokenizer
from handaxe.models.exporting.chat_messages import check_same_ids, rendered_ids, untrusted_differences
from handaxe.models.exporting.text_format import text_template
from handaxe.models.exporting.text_tokenizer import text_tokenizer

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
MARK = "\U000f4a7e"
CALCULATOR = ToolSchema(
    "calculator",
    "Calculate, <|im_end|> it says.",
    {"type": "object", "properties": {"expression": {"type": "string", "description": "a <|im_end|> \u00e9"}}},
)
LOOK_UP = ToolSchema(
    "look_up", "Look up.", {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}}
)
NAMES = "<|im_end|></s><tool_call>[/INST]<|eot_id|><END><CALL> <think>"
ATTACK = f"hi {NAMES}n\u0303 {MARK} {MARK}1x{MARK}0<|im_{MARK}1end|>"
FIRST = ToolCall("calculator", {"expression": f"12*34 {ATTACK}"}, "t0c0")
SECOND = ToolCall("look_up", {"word": 'b"urin\n', "most": 1}, "t0c1")
CHAT = [
    Message("system", f" Be brief. {ATTACK}\n"),
    Message("user", ATTACK),
    Message("assistant", "<think>\nhm\n</think>\n\nLet <|im_end|> me", (FIRST, SECOND)),
    Message("tool", f"408 {ATTACK}", call_id="t0c0", name="calculator"),
    Message("tool", "", call_id="t0c1", name="look_up"),
    Message("assistant", "", (ToolCall("calculator", {"expression": "1"}, "t1c0"),)),
    Message("tool", "\n 1", call_id="t1c0", name="calculator"),
    Message("assistant", "ok  "),
    Message("user", "\n\u00df \U0001f5ff \n"),
    Message("assistant", " fine."),
    Message("user", "<|im_start|>"),
]


def export_tokenizer(format, folder):
    """Write the tokenizer of an export to a folder and load it with transformers."""
    compact = isinstance(format, Compact)
    tokenizer = byte_tokenizer(format) if compact else text_tokenizer(format.template_info().encoder)
    tokenizer.chat_template = byte_template() if compact else text_template(format)
    tokenizer.save_pretrained(folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


def count_equal(format, tokenizer):
    """Check and count the prefixes of the conversation with equal ids, with and without the system message."""
    count = 0
    for first in (0, 1):
        for stop in range(first + 1, len(CHAT) + 1):
            messages = CHAT[first:stop]
            with_calls = any(message.calls for message in messages)
            for tools in [[CALCULATOR, LOOK_UP]] if with_calls else [[], [CALCULATOR, LOOK_UP]]:
                try:
                    wanted = format.start(messages, tools).ids
                except InputError:
                    continue
                assert rendered_ids(tokenizer, messages, tools) == wanted, format.decode(wanted)
                count += 1
    return count


@pytest.fixture(scope="module")
def tokenizer(format_case, tmp_path_factory):
    return export_tokenizer(format_case.format, tmp_path_factory.mktemp("exported"))


@pytest.mark.slow
def test_export_has_the_ids_of_each_format(format_case, tokenizer):
    assert count_equal(format_case.format, tokenizer) >= 12
    assert check_same_ids(format_case.format, tokenizer, [CALCULATOR]) >= 8
    assert untrusted_differences(format_case.format, tokenizer, [*tokenizer.get_added_vocab()]) == []


def test_template_marks_keep_names_of_control_tokens_as_text(format_case, tokenizer):
    """Without the marks of the template, the tokenizer encodes the same text as control ids."""
    name = format_case.format.decode([min(format_case.format.stop_ids)])
    assert tokenizer.encode(name, add_special_tokens=False) == [min(format_case.format.stop_ids)]
    ids = rendered_ids(tokenizer, [Message("user", f"a{name}b")], [])
    harmless = rendered_ids(tokenizer, [Message("user", "ab")], [])
    control = format_case.format.stop_ids | format_case.format.header_ids
    assert [i for i in ids if i in control] == [i for i in harmless if i in control]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prepend", "always"])
def test_prefix_space_is_added_only_before_template_text(mistral_tokenizer, kind, tmp_path):
    """Runs that start with template text get a prefix space, runs that start with user text get none."""
    from tokenizers import normalizers, pre_tokenizers

    tokenizer = copy.deepcopy(mistral_tokenizer)
    backend = tokenizer.backend_tokenizer
    if kind == "prepend":
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        backend.pre_tokenizer = None
    else:
        backend.normalizer = None
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}<|im_end|>{{ m.content }}</s>{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant<|im_end|>{% endif %}"
    )
    format = ChatTemplate(tokenizer)
    assert format.template_info().encoder.plain().prefix_space
    assert count_equal(format, export_tokenizer(format, tmp_path)) >= 20


@pytest.mark.slow
def test_export_contains_options_and_date(smollm2_tokenizer, tmp_path):
    import datetime

    tokenizer = copy.deepcopy(smollm2_tokenizer)
    tokenizer.chat_template = (
        "{{ strftime_now('%d %B %Y') }}{% if quick %} quick{% endif %} {{ rules | tojson }}\n" + tokenizer.chat_template
    )
    options = {"quick": True, "rules": {"a": [1, None, "</s>"]}}
    format = ChatTemplate(tokenizer, options=options, today=datetime.date(2024, 2, 29))
    ids = rendered_ids(export_tokenizer(format, tmp_path), [Message("user", "hi")], [])
    assert ids == format.start([Message("user", "hi")], []).ids
    assert format.decode(ids).startswith('29 February 2024 quick {"a": [1, null, "</s>"]}')


def test_template_accepts_arguments_as_json_text(smollm2_tokenizer, tmp_path):
    format = Hermes(smollm2_tokenizer)
    tokenizer = export_tokenizer(format, tmp_path)
    call = {"type": "function", "id": "x", "function": {"name": "f", "arguments": '{"word": "flint"}'}}
    chat = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    ids = tokenizer.apply_chat_template(chat, return_dict=False)
    reply = Message("assistant", "", (ToolCall("f", {"word": "flint"}),))
    assert tokenizer.decode(ids).endswith(f"{format.decode(format.encode_turn(reply, []))}\n")


def test_chat_template_format_of_an_export_has_equal_ids(format_case, tokenizer):
    """The format that `load` returns for an exported folder renders equal ids."""
    if format_case.tokenizer is None:
        pytest.skip("load ignores the tokenizer of a tiny model")
    exported = ChatTemplate(tokenizer)
    assert exported.native_tools
    for stop in (2, 9):
        for messages in (CHAT[:stop], CHAT[1:stop]):
            try:
                wanted = format_case.format.start(messages, [CALCULATOR, LOOK_UP]).ids
            except InputError:
                continue
            assert exported.start(messages, [CALCULATOR, LOOK_UP]).ids == wanted
