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
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.hermes import Hermes
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


def test_the_contract(format, chat_tokenizer):
    check_format(format, vocab_size=len(chat_tokenizer))


def test_which_templates_render_tools_themselves(qwen3, smollm2):
    assert qwen3.native_tools
    assert not smollm2.native_tools


def as_dicts(messages):
    return [{"role": m.role, "content": m.content} for m in messages]


words = st.lists(st.sampled_from(["one", " two", "3", "\u00e9", ".", "'s", "_x"]), min_size=1, max_size=6).map("".join)
spaces = st.sampled_from(["", "", " ", "\n"])


@quiet
@given(st.lists(st.tuples(words, spaces, spaces), min_size=1, max_size=3), st.booleans())
def test_an_opening_has_the_ids_of_apply_chat_template(format, chat_tokenizer, said, system):
    chat = [SYSTEM] if system else []
    for k, (text, left, right) in enumerate(said):
        chat += [Message("user", f"{left}{text}{right}")] + ([Message("assistant", f"turn {k}")] if text else [])
    chat.append(USER)
    whole = chat_tokenizer.apply_chat_template(
        as_dicts(chat), tokenize=True, add_generation_prompt=True, return_dict=False
    )
    assert format.start(chat, []).ids == list(whole)


def test_tools_have_the_ids_of_apply_chat_template(qwen3, qwen3_tokenizer):
    chat = [*as_dicts([SYSTEM, USER]), {"role": "assistant", "content": "so:"}, {"role": "tool", "content": " 2 "}]
    chat[2]["tool_calls"] = [{"function": {"name": "add", "arguments": {"a": 1}}}] * 2
    schema = {"name": "add", "description": "Add.", "parameters": dict(ADD.parameters)}
    whole = qwen3_tokenizer.apply_chat_template(
        chat, [{"type": "function", "function": schema}], tokenize=True, add_generation_prompt=True, return_dict=False
    )
    said = Message("assistant", "so:", (CALL, ToolCall("add", {"a": 1}, "t0c1")))
    messages = [SYSTEM, USER, said, Message("tool", " 2 ", call_id="t0c0", name="add")]
    assert qwen3.start(messages, [ADD]).ids == list(whole)
    turn = qwen3.encode_turn(said, [ADD])
    before = qwen3.start([SYSTEM, USER], [ADD]).ids
    assert before + turn + qwen3.extend(messages[:3], messages[3:], turn, [ADD]).ids == list(whole)


def test_the_template_of_smollm2_equals_hermes(smollm2, smollm2_tokenizer):
    hermes = Hermes(smollm2_tokenizer)
    said = Message("assistant", "", (CALL,))
    chat = [SYSTEM, USER, said, REPLY]
    assert smollm2.start(chat, [ADD]) == hermes.start(chat, [ADD])
    turn = hermes.encode_turn(said, [ADD])
    assert smollm2.encode_turn(said, [ADD]) == turn
    for last in (turn, turn[:-1]):
        assert smollm2.extend(chat[:3], [REPLY], last, [ADD]) == hermes.extend(chat[:3], [REPLY], last, [ADD])
    assert (smollm2.stop_ids, smollm2.header_ids) == (hermes.stop_ids, hermes.header_ids)


def test_literal_glue(smollm2, smollm2_tokenizer):
    part = smollm2.extend([USER, Message("assistant", "2")], [USER], [34, 2], [])
    assert smollm2.decode(part.ids) == "\n<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n"
    assert part.ids == [198, 1, 4093, 198, 33, 27, 33, 47, 2, 198, 1, 520, 9531, 198]
    assert part.authors == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    cut = smollm2.extend([USER, Message("assistant", "2")], [USER], [34], [])
    assert cut.ids == [2, *part.ids]


THOUGHT = "<think>\nhm\n</think>\n\n2"


def test_thoughts_that_the_template_drops_start_a_fresh_sequence(qwen3_tokenizer, caplog):
    format = ChatTemplate(qwen3_tokenizer)
    said = Message("assistant", THOUGHT)
    turn = format.encode_turn(said, [])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            part = format.extend([USER, said], [Message("user", "and?")], turn, [])
    assert part.fresh
    assert format.decode(part.ids) == (
        "<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n2<|im_end|>\n"
        "<|im_start|>user\nand?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert Author.POLICY not in part.authors
    assert [record.message for record in caplog.records if "rewrites history" in record.message] == [
        caplog.records[-1].message
    ]


def test_thoughts_that_the_template_keeps_are_continued(qwen3):
    said = Message("assistant", THOUGHT, (CALL,))
    turn = qwen3.encode_turn(said, [ADD])
    part = qwen3.extend([USER, said], [REPLY], turn, [ADD])
    assert not part.fresh
    whole = qwen3.start([USER, said, REPLY], [ADD])
    assert qwen3.start([USER], [ADD]).ids + turn + part.ids == whole.ids
    # a later question drops them, and those of every turn before
    later = [USER, said, REPLY, Message("assistant", "<think>so</think>2")]
    assert qwen3.extend(later, [Message("user", "and?")], [2], [ADD]).fresh


def test_sampled_thoughts_are_control_ids_but_those_of_users_are_text(qwen3, qwen3_tokenizer):
    think = qwen3_tokenizer.convert_tokens_to_ids("<think>")
    assert think in qwen3.encode_turn(Message("assistant", THOUGHT), [])
    assert think not in qwen3.start([Message("user", THOUGHT)], []).ids
    assert think not in qwen3.header_ids


def test_a_system_message_that_moves_starts_a_fresh_sequence(mistral_chat_tokenizer):
    format = ChatTemplate(mistral_chat_tokenizer)
    said = Message("assistant", "2")
    turn = format.encode_turn(said, [])
    assert format.extend([SYSTEM, USER, said], [USER], turn, []).fresh
    assert not format.extend([USER, said], [USER], turn, []).fresh


def test_the_stop_of_llama3_is_not_its_end_of_text(llama3_tokenizer):
    format = ChatTemplate(llama3_tokenizer)
    ids = llama3_tokenizer.convert_tokens_to_ids
    assert format.stop_ids == {ids("<|eot_id|>"), ids("<|end_of_text|>")}
    assert {ids("<|start_header_id|>"), ids("<|begin_of_text|>")} <= format.header_ids
    history, new = [USER, Message("assistant", "2")], [Message("user", "and?")]
    right = format.extend(history, new, [34, ids("<|eot_id|>")], [])
    other = format.extend(history, new, [34, ids("<|end_of_text|>")], [])
    assert other.ids == [ids("<|eot_id|>"), *right.ids]
    more = ChatTemplate(llama3_tokenizer, stop=["<|end_header_id|>"])
    assert ids("<|end_header_id|>") in more.stop_ids
    with pytest.raises(InputError, match="not all of these"):
        ChatTemplate(llama3_tokenizer, stop=["nothing"])


def changed(tokenizer, template):
    tokenizer = copy.copy(tokenizer)
    tokenizer.chat_template = template
    return tokenizer


def test_json_in_a_template_is_escaped_as_the_template_would(smollm2_tokenizer):
    says = "(message['content'] | tojson | tojson if message['role'] == 'user' else message['content'])"
    tokenizer = changed(smollm2_tokenizer, smollm2_tokenizer.chat_template.replace("message['content']", says))
    chat = [SYSTEM, Message("user", 'say "\\n"\nor \u00e9')]
    whole = tokenizer.apply_chat_template(as_dicts(chat), tokenize=True, add_generation_prompt=True, return_dict=False)
    assert ChatTemplate(tokenizer).start(chat, []).ids == list(whole)


@pytest.mark.parametrize("change", ["message['content'] | upper", "''"])
def test_a_template_that_alters_what_is_said_is_refused(smollm2_tokenizer, change):
    says = f"({change} if message['role'] == 'user' else message['content'])"
    tokenizer = changed(smollm2_tokenizer, smollm2_tokenizer.chat_template.replace("message['content']", says))
    with pytest.raises(InputError, match=r"alters what message 1 \(user\) says"):
        ChatTemplate(tokenizer).start([SYSTEM, USER], [])


def test_templates_that_cannot_be_used(smollm2_tokenizer, mistral_chat_tokenizer):
    with pytest.raises(InputError, match="no chat template"):
        ChatTemplate(changed(smollm2_tokenizer, None))
    with pytest.raises(InputError, match="does not end an assistant's turn"):
        ChatTemplate(changed(smollm2_tokenizer, "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"))
    with pytest.raises(InputError, match="refuses a conversation of user, user: roles must alternate"):
        ChatTemplate(mistral_chat_tokenizer).start([USER, USER], [])


def test_calls_that_nobody_reads_are_not_left_to_the_template(qwen3_tokenizer, caplog):
    template = qwen3_tokenizer.chat_template.replace("'<tool_call>", "'<other_call>")
    format = ChatTemplate(changed(qwen3_tokenizer, template))
    assert not format.native_tools
    assert "does not read" in caplog.text
    assert "You may call tools" in format.decode(format.start([USER], [ADD]).ids)


def test_options_reach_the_template(smollm2_tokenizer):
    template = smollm2_tokenizer.chat_template + "{% if add_generation_prompt and thinking %}<think>\n{% endif %}"
    tokenizer = changed(smollm2_tokenizer, template)
    format = ChatTemplate(tokenizer, options={"thinking": True})
    assert format.decode(format.start([USER], []).ids).endswith("assistant\n<think>\n")
    assert format.decode(ChatTemplate(tokenizer).start([USER], []).ids).endswith("assistant\n")


# --- a thought that the template opens --------------------------------------------------------------------------------

OPENS = ("<|im_start|>assistant\\n' }}", "<|im_start|>assistant\\n<think>\\n' }}")


@pytest.fixture(scope="module")
def opens_thoughts(qwen3_tokenizer):
    """As Qwen 3's thinking models have it: the header of a turn ends in <think>."""
    template = qwen3_tokenizer.chat_template
    assert template.count(OPENS[0]) == 1
    return ChatTemplate(changed(qwen3_tokenizer, template.replace(*OPENS)))


def test_a_format_that_opens_thoughts_keeps_the_contract(opens_thoughts, qwen3_tokenizer):
    check_format(opens_thoughts, vocab_size=len(qwen3_tokenizer))


def test_a_demonstration_closes_the_thought_and_keeps_its_call(opens_thoughts):
    said = Message("assistant", "so", (ToolCall("add", {"a": 1}, "c0"),))
    ids = opens_thoughts.encode_turn(said, [ADD])
    shown = opens_thoughts.decode(ids)
    assert shown == '\n</think>\n\nso\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>'
    parsed = opens_thoughts.parse(ids, [ADD])
    assert (parsed.text, parsed.calls, parsed.errors) == ("so", said.calls, ())


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
def test_messages_hold_thoughts_with_both_tags(opens_thoughts, content, ids):
    turn = opens_thoughts.encode_turn(Message("assistant", content), [])
    assert opens_thoughts.decode(turn) == f"{ids}<|im_end|>"
    parsed = opens_thoughts.parse(turn, [])
    assert (parsed.text, parsed.calls) == (content, ())


def test_a_thought_that_ends_nowhere_hides_its_calls(opens_thoughts):
    ids = opens_thoughts.encode_turn(Message("assistant", '<think>\n<tool_call>{"name": "add"}</tool_call>'), [])
    assert opens_thoughts.parse(ids, []).calls == ()


# --- what a run keeps -------------------------------------------------------------------------------------------------


def test_the_date_is_that_of_the_runs_first_day(smollm2_tokenizer):
    template = smollm2_tokenizer.chat_template + "{{ strftime_now('%d %b %Y') }}"
    tokenizer = changed(smollm2_tokenizer, template)
    first = ChatTemplate(tokenizer, today=datetime.date(2020, 2, 29))
    shown = first.decode(first.start([USER], []).ids)
    assert shown.endswith("29 Feb 2020")
    later = ChatTemplate(tokenizer)
    assert later.start([USER], []) != first.start([USER], [])
    assert isinstance(later, Stateful)
    later.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert later.start([USER], []) == first.start([USER], [])


def test_a_tokenizer_that_alters_text_is_refused():
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    words = ["[UNK]", "[CLS]", "[SEP]", *(c for k in range(33, 127) for c in (chr(k), f"##{chr(k)}"))]
    backend = tokenizers.BertWordPieceTokenizer(vocab={word: k for k, word in enumerate(words)}, lowercase=False)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend._tokenizer, eos_token="[SEP]")
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}[SEP]{% endfor %}"
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    for made in (ChatTemplate, Hermes):
        with pytest.raises(InputError, match="does not give text back as it was given.*comes back as"):
            made(tokenizer)


def test_tools_are_told_to_the_user_where_a_system_message_would_move(mistral_chat_tokenizer):
    format = ChatTemplate(mistral_chat_tokenizer)
    shown = format.decode(format.start([USER], [ADD]).ids)
    assert re.match(r"<s>\[INST\] +You may call tools\.", shown)
    said = Message("assistant", "", (CALL,))
    part = format.extend([USER, said], [REPLY], format.encode_turn(said, [ADD]), [ADD])
    assert not part.fresh
    assert format.decode(part.ids) == "[INST] <tool_response>\n2\n</tool_response>[/INST]"
