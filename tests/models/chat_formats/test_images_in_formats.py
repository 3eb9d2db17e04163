"""`ChatTemplate` and `Hermes` with the image processors of transformers models."""

import copy

import pytest
from helpers.vision_families import EACH_FAMILY, A, B, C, shared

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, image_spans, is_image_id
from handaxe.core.protocols import shows_images
from handaxe.core.records import Author, Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.chat_formats.saved_format import read_format, save_format
from handaxe.testing.formats import check_format

pytestmark = pytest.mark.hf
pytest.importorskip("transformers")
CROP = ToolSchema("crop", "Crop.", {"type": "object", "properties": {"box": {"type": "string"}}})
CALL, SECOND = ToolCall("crop", {"box": "1 2"}, "c0"), ToolCall("crop", {"box": "3 4"}, "c1")
QUESTION = Message.of("user", "Look: ", A, " what?")
CALLED = Message("assistant", "", (CALL,))
REPLY = Message.of("tool", "here ", B, " it is", call_id="c0", name="crop")
# In the manner of Qwen3-VL: tools, calls, and results between tags in messages of users.
NATIVE = """{%- macro show(content) -%}{%- if content is string -%}{{ content }}{%- else -%}{%- for part in content -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}{%- endif -%}{%- endmacro -%}
{%- if tools -%}{{ '<|im_start|>system\\n' }}{%- for tool in tools -%}{{ tool | tojson }}{{ '\\n' }}{%- endfor -%}
{{ '<|im_end|>\\n' }}{%- endif -%}
{%- for m in messages -%}
{%- if m.role == 'tool' -%}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}{{ '<|im_start|>user' }}{%- endif -%}
{{ '\\n<tool_response>\\n' }}TOOL{{ '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}{{ '<|im_end|>\\n' }}{%- endif -%}
{%- else -%}
{{ '<|im_start|>' + m.role + '\\n' + show(m.content) }}
{%- for call in m.tool_calls or [] -%}
{%- if not loop.first or m.content -%}{{ '\\n' }}{%- endif -%}
{{ '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}{{
'}\\n</tool_call>' }}{%- endfor -%}{{ '<|im_end|>\\n' }}
{%- endif -%}{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"""
SHOWS = "{{ show(m.content) }}"
TEXT_ONLY = "{{ m.content if m.content is string else m.content | selectattr('text') | map(attribute='text') | join }}"


def native(tool):
    """A format whose template renders tools; `tool` is its rendering of a result."""
    small = shared("qwen2_5_vl")
    tokenizer = copy.copy(small.tokenizer)
    tokenizer.chat_template = NATIVE.replace("TOOL", tool)
    return ChatTemplate(tokenizer, image_processor=small.images)


@pytest.mark.parametrize("family", EACH_FAMILY)
@pytest.mark.parametrize("kind", [ChatTemplate, Hermes])
def test_contract_and_saved_format(family, kind, tmp_path):
    _, images, tokenizer = shared(family)
    format = kind(tokenizer, image_processor=images)
    assert shows_images(format)
    check_format(format, vocab_size=len(tokenizer))
    assert images.vocabulary_ids <= format.header_ids, "a policy that samples a placeholder ends its turn"
    save_format(tmp_path, format)
    loaded = read_format(tmp_path)
    save_format(tmp_path, loaded)
    chat = [QUESTION, CALLED, REPLY]
    assert loaded.start(chat, [CROP]) == format.start(chat, [CROP])


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_rendered_text_is_that_of_the_template(family):
    _, images, tokenizer = shared(family)
    format = ChatTemplate(tokenizer, image_processor=images)
    parts = [[{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": " what?"}],
             [{"type": "image"}, {"type": "image"}]]  # fmt: skip
    chat = [QUESTION, Message("assistant", "7"), Message.of("user", B, B)]
    words = [{"type": "text", "text": "7"}] if format.style.lists else "7"
    own = [{"role": role, "content": content} for role, content in zip(("user", "assistant", "user"),
                                                                      (parts[0], words, parts[1]))]  # fmt: skip
    want = tokenizer.apply_chat_template(own, tokenize=False, add_generation_prompt=True)
    ids = format.start(chat, ()).ids
    assert tokenizer.decode(images.collapse(ids)) == want
    assert format.decode(ids) == want.replace(images.placeholder, PLACEHOLDER)
    assert [next(one for one in (A, B) if one.key == key) for _, _, key in image_spans(ids)] == [A, B, B]


@pytest.mark.parametrize("tool", [SHOWS, TEXT_ONLY])
def test_native_template_keeps_the_contract(tool):
    check_format(native(tool), vocab_size=len(shared("qwen2_5_vl").tokenizer))


def test_images_of_tool_messages_stand_in_the_result():
    format = native(SHOWS)
    assert format.native_tools and format.style.tool_images
    text = format.decode(format.start([QUESTION, CALLED, REPLY], [CROP]).ids)
    shown = f"<|vision_start|>{PLACEHOLDER}<|vision_end|>"
    assert text.endswith(f"<tool_response>\nhere {shown} it is\n</tool_response><|im_end|>\n<|im_start|>assistant\n")


def test_images_follow_the_results_where_the_template_shows_none():
    format = native(TEXT_ONLY)
    assert format.native_tools and not format.style.tool_images
    both = Message("assistant", "", (CALL, SECOND))
    second = Message.of("tool", C, A, call_id="c1", name="crop")
    chat = [QUESTION, both, REPLY, second]
    part = format.start(chat, [CROP])
    text = format.decode(part.ids)
    shown = f"<|vision_start|>{PLACEHOLDER}<|vision_end|>"
    assert text.endswith(
        "<tool_response>\nhere [image 60x60] it is\n</tool_response>\n"
        "<tool_response>\n[image 50x120][image 100x70]\n</tool_response><|im_end|>\n"
        f"<|im_start|>user\n<tool_response>\n{shown * 3}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    spans = image_spans(part.ids)
    assert [key for _, _, key in spans] == [image.key for image in (A, B, C, A)]
    assert [part.authors[start] for start, _, _ in spans] == [Author.USER, *[Author.TOOL] * 3]
    turn = format.encode_turn(both, [CROP])
    grown = [*format.start(chat[:1], [CROP]).ids, *turn, *format.extend(chat[:2], chat[2:], turn, [CROP]).ids]
    assert grown == part.ids


def test_policy_that_writes_a_placeholder_wrote_text():
    for format in (native(SHOWS), Hermes(shared("qwen2_5_vl").tokenizer, image_processor=shared("qwen2_5_vl").images)):
        said = Message("assistant", f"<|image_pad|> and {PLACEHOLDER}")
        assert not any(map(is_image_id, format.encode_turn(said, ())))
        assert len(image_spans(format.start([QUESTION, said, Message("user", "so")], ()).ids)) == 1


def test_template_without_images_is_one_sentence():
    small = shared("qwen2_5_vl")
    tokenizer = copy.copy(small.tokenizer)
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    with pytest.raises(InputError, match=r"writes no <\|image_pad\|> for an image of a user's message: set"):
        ChatTemplate(tokenizer, image_processor=small.images)
    assert not shows_images(ChatTemplate(tokenizer))


def test_template_that_drops_an_image_of_the_system_is_one_sentence():
    small = shared("qwen2_5_vl")
    tokenizer = copy.copy(small.tokenizer)
    tokenizer.chat_template = NATIVE.replace("TOOL", SHOWS).replace("m.role + '\\n' + show(m.content) }}",
        "m.role + '\\n' }}{{ show(m.content) if m.role != 'system' else m.content[0].text }}")  # fmt: skip
    format = ChatTemplate(tokenizer, image_processor=small.images)
    chat = [Message.of("system", "Like ", A), QUESTION]
    with pytest.raises(InputError, match="the chat template drops 1 images; set a tokenizer.chat_template"):
        format.start(chat, ())


IMAGES_FIRST = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + ' ' }}"
    "{% for part in m.content | selectattr('type', 'equalto', 'image') %}{{ '<image>' }}{% endfor %}"
    "{% for part in m.content | selectattr('type', 'equalto', 'text') %}{{ '\\n' + part.text }}{% endfor %}"
    "{{ '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""In the manner of LLaVA-OneVision: images before text, and another header in the history than for the next turn."""


@pytest.mark.slow
def test_template_that_moves_images_and_rewrites_headers_makes_fresh_sequences():
    small = shared("llava_onevision")
    tokenizer = copy.copy(small.tokenizer)
    tokenizer.chat_template = IMAGES_FIRST
    format = ChatTemplate(tokenizer, image_processor=small.images)
    check_format(format, vocab_size=len(tokenizer))
    part = format.extend([QUESTION, Message("assistant", "7")], [Message.of("user", B, B)], [5], ())
    assert part.fresh and [key for _, _, key in image_spans(part.ids)] == [A.key, B.key, B.key]
