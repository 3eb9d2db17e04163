"""Small vision-language models of transformers, and conversations with images, for tests."""

import copy
from functools import cache

import pytest
import torch

from handaxe.models.huggingface_vision import HuggingFaceVisionModel
from handaxe.testing.vision_models import VISION_FAMILIES, small_vision
from helpers.image_records import noise

FAST = ("qwen2_5_vl", "smolvlm", "gemma3")
EACH_FAMILY = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow, id=name) for name in VISION_FAMILIES]
GRIDS = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")
A = noise(0, 100, 70)
B = noise(1, 60, 60)
C = noise(2, 50, 120)


@cache
def shared(family):
    """A small model, whose weights no test changes."""
    return small_vision(family)


def own_model(family, *, trained=True):
    """A copy of a small model, with a context of 256 tokens."""
    small = shared(family)
    model = HuggingFaceVisionModel(copy.deepcopy(small.module), small.images)
    model.max_length = 256
    model.vision.train(trained)
    return model


def conversation(family, first, second, tail="it is 7"):
    """Text with placeholders, and ids, of a conversation with two images."""
    _, images, tokenizer = shared(family)
    parts = ["<|im_start|>user\nLook: ", first, " what?<|im_end|>\nassistant\ncrop 1 2<|im_end|>\ntool: ", second,
             f"<|im_end|>\nassistant\n{tail}"]  # fmt: skip
    text = "".join(part if isinstance(part, str) else images.placeholder for part in parts)
    ids = [
        tokenizer(part, add_special_tokens=False)["input_ids"] if isinstance(part, str) else images.token_ids(part)
        for part in parts
    ]
    return text, [token for part in ids for token in part]


def whole_call(family, text, shown):
    """What the processor of transformers makes of a whole conversation."""
    module, images, _ = shared(family)
    pixels = [image.pillow() for image in shown]
    nested = family in ("gemma3", "smolvlm", "idefics3")
    made = images.processor(
        text=[text], images=[pixels] if nested else pixels, return_tensors="pt", add_special_tokens=False
    )
    out = {name: value.double() if value.is_floating_point() else value for name, value in made.items()}
    if family == "gemma3":
        out.setdefault("token_type_ids", (out["input_ids"] == module.config.image_token_id).long())
    return out


def rows_with_images(family):
    """Rows that share beginnings, differ in an image alone, repeat an image, or have none."""
    pairs = [(A, B, "it is 7"), (A, C, "it is 7"), (A, B, "it is"), (A, B, "no"), (C, B, "it is 7"), (A, A, "it is 7")]
    return [conversation(family, *pair)[1] for pair in pairs] + [shared(family).tokenizer("no image")["input_ids"]]


def relative(value, expected):
    """Largest difference, relative to the largest entry."""
    return float((value - expected).abs().max() / expected.abs().max())


def read_row(model, ids, images=(C, B, A)):
    """Hidden states [T, D] of one row."""
    ids_1T = torch.tensor([ids])
    return model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool), images)[0]
