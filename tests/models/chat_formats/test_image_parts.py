import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.models.chat_formats.image_parts import image_parts, refuse_images, text_of, without_images
from handaxe.models.tiny_image_processor import TinyImageProcessor

IMAGE = noise(width=20, height=10)
REPLY = Message.of("tool", "Done. ", IMAGE, call_id="c0", name="zoom")
QUESTION = Message.of("user", "See ", IMAGE, "!")


def test_parts_are_in_order():
    assert image_parts(QUESTION, TinyImageProcessor(8)) == ["See ", IMAGE, "!"]
    assert image_parts(Message("user", "a \ufffc b"), TinyImageProcessor(8)) == ["a \ufffc b"]
    assert image_parts(REPLY, None) == ["Done. [image 20x10]"]


def test_images_of_tools_are_written_in_words():  # trap 26
    assert text_of(REPLY) == "Done. [image 20x10]"
    plain = Message("user", "hi")
    told, same = without_images([REPLY, plain])
    assert told == Message("tool", "Done. [image 20x10]", call_id="c0", name="zoom")
    assert same is plain


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_images_of_other_messages_are_refused(role):
    with pytest.raises(InputError, match=f"a message of role {role} has 1 images"):
        without_images([Message.of(role, IMAGE)])


def test_turn_of_the_policy_with_an_image_is_refused():
    refuse_images(Message("assistant", "ho"))
    with pytest.raises(InputError, match="a policy writes text"):
        refuse_images(Message.of("assistant", IMAGE))
