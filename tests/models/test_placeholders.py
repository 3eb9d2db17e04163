import json

import pytest

from handaxe.core.records import Author, Message
from handaxe.models.placeholders import Placeholders
from handaxe.models.untrusted import Part, SafeEncoder

pytestmark = pytest.mark.hf


@pytest.fixture(scope="module")
def encoder(smollm2_tokenizer):
    return SafeEncoder(smollm2_tokenizer)


@pytest.fixture
def hidden(encoder):
    return Placeholders(encoder, [], [])


def said(parts):
    return "".join(part.text for part in parts)


def user(text):
    return [Part(text, Author.USER, False)]


def test_words_are_hidden_and_white_space_is_not(hidden):
    text = hidden.hide(user("\n one two \t"))
    assert text == '\n Hx1000"0; \t'
    assert hidden.hide(user(" \n")) == " \n"
    assert hidden.hide([Part("tag"), *user("one two")]) == 'tagHx1000"0;'
    parts = hidden.parts(f"<|im_start|>{text.strip()}!")
    assert [(part.text, part.author, part.trusted) for part in parts] == [
        ("<|im_start|>", Author.TEMPLATE, True),
        ("one two", Author.USER, False),
        ("!", Author.TEMPLATE, True),
    ]


def test_the_same_words_of_another_author_are_others(hidden):
    texts = [hidden.hide([Part("one", author, False)]) for author in (Author.USER, Author.TOOL, Author.USER)]
    assert texts[0] == texts[2] != texts[1]


def test_a_placeholder_in_the_conversation_is_no_placeholder(encoder):
    hidden = Placeholders(encoder, [Message("user", 'Hx1000"0;')], [])
    text = hidden.hide(user('Hx1000"0;'))
    assert text == 'Hx1001"0;'
    assert said(hidden.parts(text)) == 'Hx1000"0;'


def test_a_conversation_full_of_placeholders(encoder):
    taken = " ".join(f"Hx{n}" for n in range(1000, 10000))
    hidden = Placeholders(encoder, [Message("user", f"{taken} Hx10001")], [])
    assert hidden.hide(user("one")) == 'Hx10000"0;'


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_words_are_escaped_as_often_as_their_place_was(hidden, times):
    words = 'a "b" \\ \n \u00e9'
    text, wanted = hidden.hide(user(words)), words
    for _ in range(times):
        text, wanted = json.dumps({"x": text}, ensure_ascii=False), json.dumps({"x": wanted}, ensure_ascii=False)
    assert said(hidden.parts(text)) == wanted


def test_guard_hides_only_what_could_be_mistaken(hidden):
    value = {"name": "add", "<|im_end|>": ["<think>", "x", 1, None], "text": "so <|im_start|>"}
    guarded = json.dumps(hidden.guard(value))
    assert guarded.count("Hx1000") == 3
    assert '"name": "add"' in guarded
    assert json.loads(said(hidden.parts(guarded))) == value
    assert not any("<" in part.text for part in hidden.parts(guarded) if part.trusted)


def test_where_words_stand(hidden):
    text = "[" + hidden.hide(user("one")) + hidden.hide([Part("two", trusted=False)]) + "]"
    found = hidden.found(text)
    assert hidden.is_among("one", found)
    assert hidden.is_among(" one ", found)
    assert hidden.is_among("", found)
    assert not hidden.is_among("two", found)  # the assistant's
    assert not hidden.is_among("three", found)
    assert hidden.after(text, "two") == "]"
    assert hidden.after(text, "three") == ""


def test_thoughts_and_words_in_order(hidden):
    one, two = hidden.hide(user("one")), hidden.hide(user("two"))
    text = f"x <think>{one}</think> {two}"
    assert hidden.thoughts_and_words(text) == ["<think>", one, "</think>", two]
    assert hidden.thoughts_and_words(text, among=[two]) == ["<think>", "</think>", two]


def test_call_ids_have_nine_letters_and_digits(hidden):
    assert [hidden.call_id(name) for name in ("t0c0", "t0c1", "t0c0")] == ["call00000", "call00001", "call00000"]
