"""Questions with an image, whose labels a local model with vision reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields

from handaxe.asking.prompt import Prompt
from handaxe.core.images import Image
from handaxe.core.records import Message

__all__ = ["PromptWithImage", "with_image"]


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
