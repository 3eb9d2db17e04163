"""Images in messages, for chat formats: texts and images in order, and the rule for formats without images.

Idea: a task that cannot be answered without its images must not be trained without them, while an image that a tool
returns by the way, such as a screenshot, must not end a run of a policy that reads text alone.

Example:
    text_of(Message.of("tool", "Done. ", image)) -> "Done. [image 640x480]"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.images import Image, name_images, split_images
from handaxe.core.model_api import ImageProcessor
from handaxe.core.records import Message

__all__ = ["image_parts", "refuse_images", "text_of", "without_images"]


def image_parts(message: Message, image_processor: ImageProcessor | None) -> list[str | Image]:
    """Split a message into texts and images; without an image processor into one text, by `text_of`.

    Raises:
        InputError: see `text_of`, or placeholders and images differ in number.
    """
    if not message.images or image_processor is None:
        return [text_of(message)]
    return split_images(message.content, message.images)


def text_of(message: Message) -> str:
    """Text of a message for a policy without vision: images of tool results are written as "[image 640x480]".

    Raises:
        InputError: another message has images, or placeholders and images differ in number.
    """
    if not message.images:
        return message.content
    if message.role != "tool":
        raise InputError(
            f"a message of role {message.role} has {len(message.images)} images, and this chat format has no image "
            "processor: use a model with vision and its chat format, or a task without images"
        )
    return name_images(message.content, message.images)


def refuse_images(message: Message) -> None:
    """Raise InputError for a message of the policy with images: a policy samples text alone."""
    if message.images:
        raise InputError(
            f"a turn of the policy has {len(message.images)} images: a policy writes text and calls tools; put images "
            "into messages of the user or into tool results"
        )


def without_images(messages: Sequence[Message]) -> list[Message]:
    """Messages with their text by `text_of`; a message without images is returned itself.

    Raises:
        InputError: see `text_of`.
    """
    return [replace(one, content=text_of(one), images=()) if one.images else one for one in messages]
