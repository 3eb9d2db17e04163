"""Checks of images: sizes and tokens, resizing, images that a policy cannot read, and vision that sees nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import torch

from handaxe.core.errors import HandaxeError
from handaxe.core.images import Image, unique_images
from handaxe.core.model_api import ImageProcessor, VisionModel
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Task, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, grade

__all__ = ["check_images"]

SMALLER = 16
"""Ratio of pixels above which two images differ in size."""
SHRUNK = 0.5
"""Factor of a side below which text of 10 pixels in height has fewer than 5."""
ENLARGED = 2.0
"""Factor of a side above which more than three of four pixels hold nothing new."""
LOOKED_AT = 8
"""Images whose features are compared."""
SAME = 1e-3
"""Difference of the features of two images, relative to the largest feature, below which they are the same."""


def check_images(
    tasks: Sequence[Task],
    rollouts: Sequence[Trajectory],
    *,
    format: ChatFormat,
    context: int,
    model: Any = None,
    limits: Thresholds = THRESHOLDS,
) -> list[Finding]:
    """Check the images of tasks and tool results.

    blind     the policy has no vision: an error if tasks show images, a warning if only tools do
    images    numbers, sizes and tokens; the longest image is graded by limits.reply, as a share of the context. A
              warning if a small image has about as many tokens as one with 16 times its pixels
    resizing  a warning if the processor leaves less than half of the pixels of a side, or more than doubles them
    vision    whether the vision tower trains, and whether it tells images apart: features that are the same for all
              images are an error with a frozen tower, and a warning with a trained one

    Args:
        tasks: of the run.
        rollouts: of the trial steps.
        format: chat format of the policy.
        context: token limit of a sequence.
        model: of the policy; None, or a model in another process, for no finding about vision.
        limits: thresholds.

    Returns:
        No finding without images.
    """
    asked = unique_images(image for task in tasks for message in task.messages for image in message.images)
    replies = [image for one in rollouts for reply in one.replies for image in reply.images]
    shown = unique_images([*asked, *(image for one in rollouts for image in one.images), *replies])
    if not shown:
        return []
    processor = getattr(format, "image_processor", None)
    if processor is None:
        return [_blind(asked, replies)]
    sizes = _sizes(shown, processor, context, limits)
    if sizes.figures["refused"]:
        return [sizes]
    looked = [_vision(shown[:LOOKED_AT], model)] if isinstance(model, VisionModel) else []
    return [sizes, *([_resizing(shown, processor)] if hasattr(processor, "scale") else []), *looked]


def _blind(asked: Sequence[Image], replies: Sequence[Image]) -> Finding:
    figures = {"asked": float(len(asked)), "replies": float(len(replies))}
    if asked:
        found = f"tasks show images ({len(asked)} in these tasks), and the policy has no vision"
        return Finding("blind", "error", found, "use a model with vision, such as --model tiny_vision", figures)
    found = f"tools returned {len(replies)} images, which the policy reads as [image WIDTHxHEIGHT]: it has no vision"
    return Finding("blind", "warning", found, "use a model with vision, or tools that return text", figures)


def _sizes(shown: Sequence[Image], processor: ImageProcessor, context: int, limits: Thresholds) -> Finding:
    counted, refused = list[tuple[int, int, Image]](), list[str]()
    for image in shown:
        try:
            counted.append((len(processor.token_ids(image)), image.width * image.height, image))
        except HandaxeError as error:
            refused.append(str(error))
    figures = {"images": float(len(shown)), "refused": float(len(refused))}
    if refused:
        found = f"{len(refused)} of {len(shown)} images cannot be read by the policy: {refused[0]}"
        return Finding("images", "error", found, "resize the images, or use a model that reads larger ones", figures)
    counts = [tokens for tokens, _, _ in counted]
    most, share = max(counts), max(counts) / context
    small, large = (pick(counted, key=lambda one: one[1]) for pick in (min, max))
    figures |= {"tokens/least": float(min(counts)), "tokens/most": float(most), "share": share}
    figures |= {"tokens/median": float(statistics.median(counts)), "fit": float(context // most)}
    sizes = [f"{_size(one[2])} ({one[0]} tokens)" for one in (small, large)]
    found = (
        f"{len(shown)} images {f'of {sizes[0]}' if sizes[0] == sizes[1] else f'from {sizes[0]} to {sizes[1]}'}; "
        f"median {statistics.median(counts):g} tokens, {_per_token(large)} pixels a token in the largest; "
        f"{context // most} of the longest fit into the context of {context} tokens"
    )
    level = grade(share, limits.reply)
    if level != "ok":
        return Finding("images", level, found, "shrink the images, or use a longer context", figures)
    if large[1] >= SMALLER * small[1] and 2 * small[0] >= large[0] > 1:
        remedy = f"an image of {_size(small[2])} costs as much as one of {_size(large[2])}: lower the least number of "
        return Finding("images", "warning", found, remedy + "pixels of the image processor, or cut out more", figures)
    return Finding("images", "ok", found, "", figures)


def _resizing(shown: Sequence[Image], processor: Any) -> Finding:
    """Compare the size of each image with the size at which the vision tower reads the image."""
    scales = [(float(processor.scale(image)), image) for image in shown]
    least, most = (pick(scales, key=lambda one: one[0]) for pick in (min, max))
    figures = {"scale/least": least[0], "scale/most": most[0]}
    found = f"sides are resized by factors from {least[0]:.2g} ({_size(least[1])}) to {most[0]:.2g} ({_size(most[1])})"
    if least[0] < SHRUNK:
        remedy = "small text of the shrunk image is lost: raise the largest size of the image processor, or let a tool "
        return Finding("resizing", "warning", found, remedy + "show parts of the original", figures)
    if most[0] > ENLARGED:
        remedy = f"the image of {_size(most[1])} costs the tokens of a larger one: lower the least size of the image "
        return Finding("resizing", "warning", found, remedy + "processor, or cut out more", figures)
    return Finding("resizing", "ok", found, "", figures)


def _vision(images: Sequence[Image], model: VisionModel) -> Finding:
    """Compare the features of different images."""
    with torch.no_grad():
        means = [layers[0].double().mean(0) for layers in model.image_features(images)]
    state = "trained" if model.trains_vision else "frozen"
    figures = {"trained": float(model.trains_vision), "images": float(len(images))}
    if len(means) < 2:
        return Finding("vision", "ok", f"the vision tower is {state}", "", figures)
    table_ID = torch.stack(means)
    spread = float((table_ID.max(0).values - table_ID.min(0).values).max() / table_ID.abs().max().clamp(min=1e-30))
    figures["spread"] = spread
    if kept := getattr(getattr(model, "vision", None), "kept", None):
        figures |= {"kept/tokens": float(kept.tokens), "kept/reused": float(kept.reused)}
    found = f"the vision tower is {state}; mean features of {len(images)} images differ by {spread:.2g} of the largest"
    if spread >= SAME:
        return Finding("vision", "ok", found, "", figures)
    remedy = "it tells no image from another: load weights of a trained vision tower"
    if not model.trains_vision:
        return Finding("vision", "error", found, f"{remedy}, or train it (--vision trained, --lora-vision)", figures)
    return Finding("vision", "warning", found, remedy, figures)


def _size(image: Image) -> str:
    return f"{image.width}x{image.height}"


def _per_token(one: tuple[int, int, Image]) -> int:
    return round(one[1] / one[0])
