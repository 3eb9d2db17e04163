"""Questions with an image, whose labels a local model with vision reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from handaxe.asking.policy_answerer import label_forms
from handaxe.asking.prompt import Prompt
from handaxe.core.images import Image
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message
from handaxe.core.requests import Measure

__all__ = ["PromptWithImage", "label_requests", "with_image"]


@dataclass(frozen=True)
class PromptWithImage(Prompt):
    """A prompt whose last message ends with an image. The digest, and with it the key of a question, has the image."""

    image: Image

    def render(self, fields: Mapping[str, str], *, cut: int = 0) -> tuple[Message, ...]:
        """The messages of `Prompt.render`, and the image at the end of the last one."""
        *before, last = super().render(fields, cut=cut)
        return (*before, Message.of(last.role, last.content, self.image))


def with_image(prompt: Prompt, image: Image) -> PromptWithImage:
    """Add an image to a prompt.

    Example:
        with_image(prompt, image).render(fields)[-1].images -> (image,)
    """
    known = {one.name: getattr(prompt, one.name) for one in fields(Prompt)}
    digest = hashlib.sha256(f"{prompt.digest} {image.digest}".encode()).hexdigest()
    return PromptWithImage(**{**known, "digest": digest}, image=image)


def label_requests(
    messages: Sequence[Message], labels: Mapping[str, tuple[str, ...]], format: ChatFormat, *, prefix: str = ""
) -> list[tuple[str, Measure]]:
    """Requests for the log-likelihood of each surface form of each label after a conversation with images.

    Raises:
        InputError: no token separates the labels.

    Example:
        labels yes and no with a form each  ->  [("yes", Measure(...)), ("no", Measure(...))]
    """
    forms, shared = label_forms(labels, prefix, format)
    opening = format.start(tuple(messages), ()).ids
    images = tuple(image for message in messages for image in message.images)
    return [
        (label, Measure([*opening, *ids], len(opening) + shared, images=images))
        for label, own in forms.items()
        for ids in own
    ]
