import copy
import datetime
import json
import logging
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stateful
from handaxe.core.records import Author, Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.testing.formats import check_format

pytestmark = pytest.mark.hf
quiet = settings(
    max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
CALL = ToolCall("add", {"a": 1}, "t0c0")
USER, SYSTEM = Message("user", "1+1?"), Message("system", "Be brief.")
REPLY = Message("tool", "2", call_id="t0c0", name="add")


@pytest.fixture(scope="module")
def format(chat_tokenizer):
    return ChatTemplate(chat_tokenizer)


@pytest.fixture(scope="module")
def smollm2(smollm2_tokenizer):
    return ChatTemplate(smollm2_tokenizer)


@pytest.fixture(scope="module")
def qwen3(qwen3_tokenizer):
    return ChatTemplate(qwen3_tokenizer)


def test_format_meets_the_contract(format, chat_tokenizer):
    check_format(format, vocab_size=len(chat_tokenizer))


def test_native_tools_is_true_for_templates_that_render_tools(qwen3, smollm2):
    assert qwen3.native_tools
    assert not smollm2.native_tools


def as_dicts(messages):
    return [{"role": m.role, "content": m.content} for m in messages]


words = st.lists(st.sampled_from(["one", " two", "3", "\u00e9", ".", "'s", "_x"]), min_size=1, max_size=6).map("".join)
spaces = st.sampled_from(["", "", " ", "\n"])


@quiet
@given(st.lists(st.tuples(words, spaces, spaces), min_size=1, max_size=3), st.booleans())
def test_start_has_the_ids_of_apply_chat_template(format, chat_tokenizer, texts, system):
    chat = [SYSTEM] if system else []
    for k, (text, prefix, suffix) in enumerate(texts):
        chat += [Message("user", f"{prefix}{text}{suffix}")] + ([Message("assistant", f"turn {k}")] if text else [])
    chat.append(USER)
    expected = chat_tokenizer.apply_chat_template(
        as_dicts(chat), tokenize=True, add_generation_prompt=True, return_dict=False
    )
    assert format.start(chat, []).ids == list(expected)


def test_tools_have_the_ids_of_apply_chat_template(qwen3, qwen3_tokenizer):
    chat = [*as_dicts([SYSTEM, USER]), {"role": "assistant", "content": "so:"}, {"role": "tool", "content": " 2 "}]
    chat[2]["tool_calls"] = [{"function": {"name": "add", "arguments": {"a": 1}}}] * 2
    schema = {"name": "add", "description": "Add.", "parameters": dict(ADD.parameters)}
    expected = qwen3_tokenizer.apply_chat_template(
        chat, [{"type": "function", "function": schema}], tokenize=True, add_generation_prompt=True, return_dict=False
    )
    reply = Message("assistant", "so:", (CALL, ToolCall("add", {"a": 1}, "t0c1")))
    messages = [SYSTEM, USER, reply, Message("tool", " 2 ", call_id="t0c0", name="add")]
    assert qwen3.start(messages, [ADD]).ids == list(expected)
    turn = qwen3.encode_turn(reply, [ADD])
    opening = qwen3.start([SYSTEM, USER], [ADD]).ids
    assert opening + turn + qwen3.extend(messages[:3], messages[3:], turn, [ADD]).ids == list(expected)


def test_template_of_smollm2_equals_hermes(smollm2, smollm2_tokenizer):
    hermes = Hermes(smollm2_tokenizer)
    reply = Message("assistant", "", (CALL,))
    chat = [SYSTEM, USER, reply, REPLY]
    assert smollm2.start(chat, [ADD]) == hermes.start(chat, [ADD])
    turn = hermes.encode_turn(reply, [ADD])
    assert smollm2.encode_turn(reply, [ADD]) == turn
    for last in (turn, turn[:-1]):
        assert smollm2.extend(chat[:3], [REPLY], last, [ADD]) == hermes.extend(chat[:3], [REPLY], last, [ADD])
    assert (smollm2.stop_ids, smollm2.header_ids) == (hermes.stop_ids, hermes.header_ids)


def test_extend_adds_literal_ids_around_a_user_message(smollm2, smollm2_tokenizer):
    part = smollm2.extend([USER, Message("assistant", "2")], [USER], [34, 2], [])
    assert smollm2.decode(part.ids) == "\n<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n"
    assert part.ids == [198, 1, 4093, 198, 33, 27, 33, 47, 2, 198, 1, 520, 9531, 198]
    assert part.authors == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    cut = smollm2.extend([USER, Message("assistant", "2")], [USER], [34], [])
    assert cut.ids == [2, *part.ids]


THOUGHT = "<think>\nhm\n</think>\n\n2"


def test_dropped_thoughts_start_a_fresh_sequence(qwen3_tokenizer, caplog):
    format = ChatTemplate(qwen3_tokenizer)
    reply = Message("assistant", THOUGHT)
    turn = format.encode_turn(reply, [])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            part = format.extend([USER, reply], [Message("user", "and?")], turn, [])
    assert part.fresh
    assert format.decode(part.ids) == (
        "<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n2<|im_end|>\n"
        "<|im_start|>user\nand?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert Author.POLICY not in part.authors
    assert [record.message for record in caplog.records if "rewrites history" in record.message] == [
        caplog.records[-1].message
    ]


def test_rendered_thoughts_continue_the_sequence(qwen3):
    reply = Message("assistant", THOUGHT, (CALL,))
    turn = qwen3.encode_turn(reply, [ADD])
    part = qwen3.extend([USER, reply], [REPLY], turn, [ADD])
    assert not part.fresh
    expected = qwen3.start([USER, reply, REPLY], [ADD])
    assert qwen3.start([USER], [ADD]).ids + turn + part.ids == expected.ids
    # a later user message drops the thoughts of all turns
    followed = [USER, reply, REPLY, Message("assistant", "<think>so</think>2")]
    assert qwen3.extend(followed, [Message("user", "and?")], [2], [ADD]).fresh


def test_thought_tags_are_control_ids_only_in_assistant_turns(qwen3, qwen3_tokenizer):
    think = qwen3_tokenizer.convert_tokens_to_ids("<think>")
    assert think in qwen3.encode_turn(Message("assistant", THOUGHT), [])
    assert think not in qwen3.start([Message("user", THOUGHT)], []).ids
    assert think not in qwen3.header_ids


def test_moving_system_message_starts_a_fresh_sequence(mistral_chat_tokenizer):
    format = ChatTemplate(mistral_chat_tokenizer)
    reply = Message("assistant", "2")
    turn = format.encode_turn(reply, [])
    assert format.extend([SYSTEM, USER, reply], [USER], turn, []).fresh
    assert not format.extend([USER, reply], [USER], turn, []).fresh


def test_stop_ids_of_llama3_include_the_end_of_turn(llama3_tokenizer):
    format = ChatTemplate(llama3_tokenizer)
    ids = llama3_tokenizer.convert_tokens_to_ids
    assert format.stop_ids == {ids("<|eot_id|>"), ids("<|end_of_text|>")}
    assert {ids("<|start_header_id|>"), ids("<|begin_of_text|>")} <= format.header_ids
    history, new = [USER, Message("assistant", "2")], [Message("user", "and?")]
    after_turn = format.extend(history, new, [34, ids("<|eot_id|>")], [])
    after_text = format.extend(history, new, [34, ids("<|end_of_text|>")], [])
    assert after_text.ids == [ids("<|eot_id|>"), *after_turn.ids]
    extended = ChatTemplate(llama3_tokenizer, stop=["<|end_header_id|>"])
    assert ids("<|end_header_id|>") in extended.stop_ids
    with pytest.raises(InputError, match="not all of these"):
        ChatTemplate(llama3_tokenizer, stop=["nothing"])


def with_template(tokenizer, template):
    tokenizer = copy.copy(tokenizer)
    tokenizer.chat_template = template
    return tokenizer


def test_text_is_escaped_as_often_as_the_template_serialises(smollm2_tokenizer):
    content = "(message['content'] | tojson | tojson if message['role'] == 'user' else message['content'])"
    template = smollm2_tokenizer.chat_template.replace("message['content']", content)
    tokenizer = with_template(smollm2_tokenizer, template)
    chat = [SYSTEM, Message("user", 'say "\\n"\nor \u00e9')]
    expected = tokenizer.apply_chat_template(
        as_dicts(chat), tokenize=True, add_generation_prompt=True, return_dict=False
    )
    assert ChatTemplate(tokenizer).start(chat, []).ids == list(expected)


@pytest.mark.parametrize("change", ["message['content'] | upper", "''"])
def test_template_that_alters_text_is_an_input_error(smollm2_tokenizer, change):
    content = f"({change} if message['role'] == 'user' else message['content'])"
    template = smollm2_tokenizer.chat_template.replace("message['content']", content)
    tokenizer = with_template(smollm2_tokenizer, template)
    with pytest.raises(InputError, match=r"alters the text of message 1 \(user\)"):
        ChatTemplate(tokenizer).start([SYSTEM, USER], [])


def test_unusable_templates_are_input_errors(smollm2_tokenizer, mistral_chat_tokenizer):
    with pytest.raises(InputError, match="no chat template"):
        ChatTemplate(with_template(smollm2_tokenizer, None))
    unended = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    with pytest.raises(InputError, match="does not end an assistant's turn"):
        ChatTemplate(with_template(smollm2_tokenizer, unended))
    with pytest.raises(InputError, match="refuses a conversation of user, user: roles must alternate"):
        ChatTemplate(mistral_chat_tokenizer).start([USER, USER], [])


def test_tools_of_a_template_with_unparsable_calls_are_described_instead(qwen3_tokenizer, caplog):
    template = qwen3_tokenizer.chat_template.replace("'<tool_call>", "'<other_call>")
    format = ChatTemplate(with_template(qwen3_tokenizer, template))
    assert not format.native_tools
    assert "does not parse" in caplog.text
    assert "You may call tools" in format.decode(format.start([USER], [ADD]).ids)


def test_options_are_variables_of_the_template(smollm2_tokenizer):
    template = smollm2_tokenizer.chat_template + "{% if add_generation_prompt and thinking %}<think>\n{% endif %}"
    tokenizer = with_template(smollm2_tokenizer, template)
    format = ChatTemplate(tokenizer, options={"thinking": True})
    assert format.decode(format.start([USER], []).ids).endswith("assistant\n<think>\n")
    assert format.decode(ChatTemplate(tokenizer).start([USER], []).ids).endswith("assistant\n")


# --- templates whose turn header ends in <think>

OPENS = ("<|im_start|>assistant\\n' }}", "<|im_start|>assistant\\n<think>\\n' }}")


@pytest.fixture(scope="module")
def opens_thoughts(qwen3_tokenizer):
    """The format of Qwen 3's thinking models: the header of a turn ends in <think>."""
    template = qwen3_tokenizer.chat_template
    assert template.count(OPENS[0]) == 1
    return ChatTemplate(with_template(qwen3_tokenizer, template.replace(*OPENS)))


def test_format_that_opens_thoughts_meets_the_contract(opens_thoughts, qwen3_tokenizer):
    check_format(opens_thoughts, vocab_size=len(qwen3_tokenizer))


def test_demonstration_closes_the_opened_thought_before_its_call(opens_thoughts):
    reply = Message("assistant", "so", (ToolCall("add", {"a": 1}, "c0"),))
    ids = opens_thoughts.encode_turn(reply, [ADD])
    shown = opens_thoughts.decode(ids)
    assert shown == '\n</think>\n\nso\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>'
    parsed = opens_thoughts.parse(ids, [ADD])
    assert (parsed.text, parsed.calls, parsed.errors) == ("so", reply.calls, ())


@pytest.mark.parametrize(
    "content, ids",
    [
        ("2", "\n</think>\n\n2"),
        ("", "\n</think>\n\n"),
        ("<think>\nhm\n</think>\n\n2", "hm\n</think>\n\n2"),
        ("<think>\nhm", "hm"),
        ("<think>\n<tool_call>{}</tool_call></think>2", "<tool_call>{}</tool_call></think>2"),
    ],
)
def test_messages_contain_thoughts_with_both_tags(opens_thoughts, content, ids):
    turn = opens_thoughts.encode_turn(Message("assistant", content), [])
    assert opens_thoughts.decode(turn) == f"{ids}<|im_end|>"
    parsed = opens_thoughts.parse(turn, [])
    assert (parsed.text, parsed.calls) == (content, ())


def test_calls_in_an_unclosed_thought_are_ignored(opens_thoughts):
    ids = opens_thoughts.encode_turn(Message("assistant", '<think>\n<tool_call>{"name": "add"}</tool_call>'), [])
    assert opens_thoughts.parse(ids, []).calls == ()


# --- state of a run


def test_state_dict_restores_the_date_of_the_first_day(smollm2_tokenizer):
    template = smollm2_tokenizer.chat_template + "{{ strftime_now('%d %b %Y') }}"
    tokenizer = with_template(smollm2_tokenizer, template)
    first = ChatTemplate(tokenizer, today=datetime.date(2020, 2, 29))
    shown = first.decode(first.start([USER], []).ids)
    assert shown.endswith("29 Feb 2020")
    followed = ChatTemplate(tokenizer)
    assert followed.start([USER], []) != first.start([USER], [])
    assert isinstance(followed, Stateful)
    followed.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert followed.start([USER], []) == first.start([USER], [])


def test_tokenizer_that_alters_text_is_an_input_error():
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    words = ["[UNK]", "[CLS]", "[SEP]", *(c for k in range(33, 127) for c in (chr(k), f"##{chr(k)}"))]
    backend = tokenizers.BertWordPieceTokenizer(vocab={word: k for k, word in enumerate(words)}, lowercase=False)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend._tokenizer, eos_token="[SEP]")
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}[SEP]{% endfor %}"
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    for format_class in (ChatTemplate, Hermes):
        with pytest.raises(InputError, match=r"the tokenizer \(.*\) alters text: .* is decoded as"):
            format_class(tokenizer)


def test_tools_are_in_the_user_message_if_a_system_message_would_move(mistral_chat_tokenizer):
    format = ChatTemplate(mistral_chat_tokenizer)
    shown = format.decode(format.start([USER], [ADD]).ids)
    assert re.match(r"<s>\[INST\] +You may call tools\.", shown)
    reply = Message("assistant", "", (CALL,))
    part = format.extend([USER, reply], [REPLY], format.encode_turn(reply, [ADD]), [ADD])
    assert not part.fresh
    assert format.decode(part.ids) == "[INST] <tool_response>\n2\n</tool_response>[/INST]"
