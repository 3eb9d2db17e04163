import json

import pytest

from handaxe.core.records import Author, Message
from handaxe.models.chat_formats.placeholders import Placeholders
from handaxe.models.chat_formats.safe_encoder import Part, SafeEncoder

pytestmark = pytest.mark.hf


@pytest.fixture(scope="module")
def encoder(smollm2_tokenizer):
    return SafeEncoder(smollm2_tokenizer)


@pytest.fixture
def placeholders(encoder):
    return Placeholders(encoder, [], [])


def joined_text(parts):
    return "".join(part.text for part in parts)


def user(text):
    return [Part(text, Author.USER, False)]


def test_hide_replaces_text_inside_its_white_space(placeholders):
    text = placeholders.hide(user("\n one two \t"))
    assert text == '\n Hx1000"0; \t'
    assert placeholders.hide(user(" \n")) == " \n"
    assert placeholders.hide([Part("tag"), *user("one two")]) == 'tagHx1000"0;'
    parts = placeholders.parts(f"<|im_start|>{text.strip()}!")
    assert [(part.text, part.author, part.trusted) for part in parts] == [
        ("<|im_start|>", Author.TEMPLATE, True),
        ("one two", Author.USER, False),
        ("!", Author.TEMPLATE, True),
    ]


def test_equal_text_of_other_authors_has_other_placeholders(placeholders):
    texts = [placeholders.hide([Part("one", author, False)]) for author in (Author.USER, Author.TOOL, Author.USER)]
    assert texts[0] == texts[2] != texts[1]


def test_placeholder_in_the_conversation_stays_text(encoder):
    placeholders = Placeholders(encoder, [Message("user", 'Hx1000"0;')], [])
    text = placeholders.hide(user('Hx1000"0;'))
    assert text == 'Hx1001"0;'
    assert joined_text(placeholders.parts(text)) == 'Hx1000"0;'


def test_unused_prefix_is_found_among_thousands(encoder):
    used = " ".join(f"Hx{n}" for n in range(1000, 10000))
    placeholders = Placeholders(encoder, [Message("user", f"{used} Hx10001")], [])
    assert placeholders.hide(user("one")) == 'Hx10000"0;'


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_text_is_escaped_as_often_as_its_placeholder(placeholders, times):
    content = 'a "b" \\ \n \u00e9'
    text, wanted = placeholders.hide(user(content)), content
    for _ in range(times):
        text, wanted = json.dumps({"x": text}, ensure_ascii=False), json.dumps({"x": wanted}, ensure_ascii=False)
    assert joined_text(placeholders.parts(text)) == wanted


def test_guard_hides_only_strings_with_control_tokens_or_thought_tags(placeholders):
    value = {"name": "add", "<|im_end|>": ["<think>", "x", 1, None], "text": "so <|im_start|>"}
    guarded = json.dumps(placeholders.guard(value))
    assert guarded.count("Hx1000") == 3
    assert '"name": "add"' in guarded
    assert json.loads(joined_text(placeholders.parts(guarded))) == value
    assert not any("<" in part.text for part in placeholders.parts(guarded) if part.trusted)


def test_contains_and_text_after_locate_text(placeholders):
    text = "[" + placeholders.hide(user("one")) + placeholders.hide([Part("two", trusted=False)]) + "]"
    numbers = placeholders.numbers(text)
    assert placeholders.contains("one", numbers)
    assert placeholders.contains(" one ", numbers)
    assert placeholders.contains("", numbers)
    assert not placeholders.contains("two", numbers)  # text of the assistant
    assert not placeholders.contains("three", numbers)
    assert placeholders.text_after(text, "two") == "]"
    assert placeholders.text_after(text, "three") == ""


def test_content_marks_lists_thought_tags_and_placeholders_in_order(placeholders):
    first, second = placeholders.hide(user("one")), placeholders.hide(user("two"))
    text = f"x <think>{first}</think> {second}"
    assert placeholders.content_marks(text) == ["<think>", first, "</think>", second]
    assert placeholders.content_marks(text, among=[second]) == ["<think>", "</think>", second]


def test_call_ids_have_nine_letters_and_digits(placeholders):
    assert [placeholders.call_id(name) for name in ("t0c0", "t0c1", "t0c0")] == ["call00000", "call00001", "call00000"]
