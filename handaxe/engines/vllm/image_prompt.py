"""Images of a prompt, as a vLLM server takes them.

Idea: ids in, ids out, with images by reference. The server gets one placeholder id per image. Its processor replaces
the placeholder by image tokens, so the answer's prompt ids must equal the trainer's. The digest of an image is the key
of the server's caches: the bytes of an image are sent once to each server, and again after a push, which clears the
caches.

    token_ids      7 <image> 9                       the placeholder of the chat template
    content_parts  {"type": "image_url", "uuid": digest, "url": "data:..." or None}

Example: `image_prompt(request.ids, request.images, model.image_processor)`
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.images import Image, image_spans, index_images, unique_images
from handaxe.core.model_api import ImageProcessor

__all__ = ["ImagePrompt", "SentImages", "check_prompt_ids", "content_parts", "image_prompt"]

ARRIVAL_TIMEOUT = 30.0
"""Seconds that a request waits for bytes sent with another request, before sending the bytes again."""


class ImagePrompt(NamedTuple):
    """Prompt with images.

    token_ids  ids of the vocabulary, one placeholder per image
    images     image of each placeholder, in order
    expanded   expected prompt of the server: ids of the vocabulary, one per id of the request
    text       number of ids outside images
    """

    token_ids: list[int]
    images: list[Image]
    expanded: list[int]
    text: int


def image_prompt(ids: Sequence[int], images: Sequence[Image], processor: ImageProcessor) -> ImagePrompt | None:
    """Make the prompt of ids with image tokens; None for ids of text.

    Args:
        ids: of the request, with the sampled part of its turn.
        images: of the ids, and possibly others.
        processor: of the model.

    Raises:
        InputError: the ids hold a part of an image, or a placeholder of the vocabulary before an image.
    """
    spans = image_spans(ids)
    if not spans:
        return None
    ids = list(map(int, ids))
    found = index_images(images)
    shown = [found[key] for _, _, key in spans]
    for (start, stop, _), image in zip(spans, shown):
        size = len(processor.token_ids(image))
        if stop - start != size:
            raise InputError(
                f"the ids hold {stop - start} of the {size} tokens of {image!r}, and a vLLM server reads images whole"
            )
    (placeholder,) = processor.collapse(shown[0].ids(1))
    if placeholder in ids[: spans[-1][0]]:
        raise InputError(
            f"the text before an image holds {placeholder}, the placeholder of images, and a vLLM server would put the "
            "image there; end a turn in which a policy samples it"
        )
    text = len(ids) - sum(stop - start for start, stop, _ in spans)
    return ImagePrompt(processor.collapse(ids), shown, processor.expand(ids, found), text)


def content_parts(images: Sequence[Image], sent: Collection[str]) -> list[dict[str, Any]]:
    """Make a part per image, without bytes for digests in `sent`."""
    urls = {image.digest: None if image.digest in sent else image.data_url for image in unique_images(images)}
    return [{"type": "image_url", "url": urls[image.digest], "uuid": image.digest} for image in images]


def check_prompt_ids(ids: list[int], prompt: ImagePrompt, server: str) -> None:
    """Compare the prompt ids of an answer with the trainer's.

    Raises:
        TrainingError: the prompts differ.
    """
    if ids == prompt.expanded:
        return
    counts = f"{len(ids) - prompt.text} tokens", f"the trainer {len(prompt.expanded) - prompt.text}"
    if len(ids) == len(prompt.expanded):
        at = next(at for at, pair in enumerate(zip(ids, prompt.expanded)) if pair[0] != pair[1])
        counts = counts[0], f"{counts[1]}, and id {at} of the prompt is {ids[at]} there and {prompt.expanded[at]} here"
    number = f"{len(prompt.images)} images" if len(prompt.images) > 1 else "an image"
    raise TrainingError(
        f"the server {server} makes {counts[0]} of {number} of a prompt, {counts[1]}: give the server the trainer's "
        "processor files, and both the same settings (--mm-processor-kwargs of the server)"
    )


class SentImages:
    """Digests of the images sent to a server since the last push. Bytes are arriving until the request that sends them
    ends."""

    def __init__(self) -> None:
        self._deadlines: dict[str, float] = {}

    def claim(self, images: Sequence[Image]) -> frozenset[str]:
        """Return the digests of images sent before, and count other images as arriving."""
        known = frozenset(image.digest for image in images if image.digest in self._deadlines)
        self.renew([image for image in images if image.digest not in known])
        return known

    def renew(self, images: Sequence[Image]) -> None:
        """Count images as arriving."""
        deadline = time.monotonic() + ARRIVAL_TIMEOUT
        self._deadlines.update({image.digest: deadline for image in images})

    def arriving(self, images: Sequence[Image]) -> bool:
        """Return True if bytes of one of the images are on the way with another request."""
        now = time.monotonic()
        return any(self._deadlines.get(image.digest, 0.0) > now for image in images)

    def arrived(self, images: Sequence[Image]) -> None:
        """Count images as received."""
        self._deadlines.update({image.digest: 0.0 for image in images if image.digest in self._deadlines})

    def forget(self, images: Sequence[Image]) -> None:
        """Count images as not sent."""
        for image in images:
            self._deadlines.pop(image.digest, None)

    def clear(self) -> None:
        """Forget all images, after the server cleared its caches."""
        self._deadlines.clear()
