"""The image checks pass for sound engines, and fail for engines with one fault each."""

from dataclasses import replace

import pytest
import torch
from helpers.vision_policy import CONFIG, PaddedVision, vision_model

from handaxe.core.images import FIRST_IMAGE_ID, is_image_id, token_number
from handaxe.core.requests import Sample
from handaxe.engines.local import packing, prefix_cache, slot_admission
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyModel
from handaxe.testing import engine_images
from handaxe.testing.engine_case import EngineCase
from handaxe.testing.engine_contract import check_engine

CHECKS = [name for name in engine_images.__all__ if name.startswith("check_")]


def gradient(engine):
    return {name: p.grad for name, p in engine.model.module.named_parameters() if p.grad is not None}


def make_case(folder, model_class=TinyModel, engine_class=LocalEngine, **options):
    return EngineCase(
        lambda: engine_class(vision_model(model_class=model_class), **options),
        vision_model,
        folder,
        1e-6,
        gradient,
        None,
        False,
    )


@pytest.mark.slow
def test_tiny_policy_with_vision_passes_the_engine_contract(tmp_path):
    names = check_engine(
        lambda: LocalEngine(vision_model()), vision_model, folder=tmp_path, tolerance=1e-6, gradient=gradient
    )
    assert names[-7:] == [name.removeprefix("check_") for name in (*CHECKS_OF_MEASURES, *CHECKS_OF_STREAMS)]


CHECKS_OF_MEASURES = [
    "check_image_measures",
    "check_image_sampling",
    "check_image_gradient",
    "check_image_refusals",
    "check_image_checkpoint",
]
CHECKS_OF_STREAMS = ["check_image_prefixes", "check_image_weights"]


@pytest.mark.parametrize("check", [name for name in CHECKS if name != "check_image_checkpoint"])
@pytest.mark.parametrize(
    "options",
    [
        {"packing": "rows"},
        {"pack_tokens": 20, "prefill_chunk": 5, "max_rows": 2},
        {"model_class": PaddedVision},
    ],
    ids=["rows", "chunks", "static"],
)
def test_other_ways_of_reading_pass(check, options, tmp_path):
    getattr(engine_images, check)(make_case(tmp_path, **options))


@pytest.mark.slow
def test_text_model_has_no_image_checks(tmp_path):
    text = replace(CONFIG, patch=0, width=16, max_length=20, vocab_size=24)
    names = check_engine(
        lambda: LocalEngine(vision_model(config=text)), lambda: vision_model(config=text), folder=tmp_path
    )
    assert not [name for name in names if "image" in name]


# --- engines with one fault --------------------------------------------------------------------------------------


def refused(check, case, words):
    with pytest.raises(AssertionError, match=words):
        getattr(engine_images, check)(case)


def constant_ids(ids):
    """The ids with one placeholder id for all images."""
    return [FIRST_IMAGE_ID + token_number(token) if is_image_id(token) else token for token in ids]


def test_prefix_cache_that_ignores_which_image_is_refused(tmp_path, monkeypatch):  # trap 1
    class Blind(prefix_cache.PrefixCache):
        def find(self, ids):
            return super().find(constant_ids(ids))

        def add(self, ids, start, parts):
            super().add(constant_ids(ids), start, parts)

    monkeypatch.setattr("handaxe.engines.local.continuous_batching.PrefixCache", Blind)
    refused("check_image_prefixes", make_case(tmp_path), "a prompt after others with other images")


def test_siblings_that_ignore_which_image_are_refused(tmp_path, monkeypatch):  # trap 1
    true = prefix_cache.common_length
    monkeypatch.setattr(
        slot_admission, "common_length", lambda one, other: true(constant_ids(one), constant_ids(other))
    )
    refused("check_image_sampling", make_case(tmp_path), "logp sampled in row")


def test_trees_that_ignore_which_image_are_refused(tmp_path, monkeypatch):  # trap 1
    true = packing._rows

    def blind(batch):
        rows = [row.copy() for row in true(batch)]
        first = batch.images[0].ids(1)[0] if batch.images else 0
        for row in rows:
            at = is_image_id(row)
            row[at] = first + token_number(row[at])
        return rows

    monkeypatch.setattr(packing, "_rows", blind)
    case = make_case(tmp_path)
    with pytest.raises(Exception, match="with images|more tokens"):
        engine_images.check_image_measures(case)


class Detached(TinyModel):
    """Features without gradient."""

    def hidden_tree(self, pack):
        found = self.module.vision.forward
        self.module.vision.forward = lambda images: [one.detach() for one in found(images)]
        try:
            return super().hidden_tree(pack)
        finally:
            del self.module.vision.forward


class Doubled(Detached):
    """The gradient of an image is counted once more for each of its runs."""

    def hidden_tree(self, pack):
        found = self.module.vision.forward
        self.module.vision.forward = lambda images: [2 * one - one.detach() for one in found(images)]
        try:
            return TinyModel.hidden_tree(self, pack)
        finally:
            del self.module.vision.forward


@pytest.mark.parametrize("model_class", [Detached, Doubled])
def test_wrong_gradient_of_the_tower_is_refused(model_class, tmp_path):  # trap 10
    with pytest.raises((AssertionError, KeyError), match=r"the gradient of vision|vision\."):
        engine_images.check_image_gradient(make_case(tmp_path, model_class=model_class))


class Kept(TinyModel):
    """Features are kept across optimiser steps."""

    def slots(self):
        kept, found = {}, self.module.vision.forward

        def look(images):
            for image in images:
                if image not in kept:
                    kept[image] = found([image])[0].detach().clone()
            return [kept[image] for image in images]

        cache = super().slots()
        read = cache.read

        def patched(rows, copies):
            self.module.vision.forward = look
            try:
                return read(rows, copies)
            finally:
                del self.module.vision.forward

        cache.read = patched
        return cache


def test_features_that_survive_a_step_are_refused(tmp_path):  # trap 9
    refused("check_image_weights", make_case(tmp_path, model_class=Kept), "logp after a step, with images")


def test_rows_that_lose_images_are_refused(tmp_path, monkeypatch):  # trap 11
    from handaxe.core.batch import Batch

    true = Batch.rows
    monkeypatch.setattr(Batch, "rows", lambda self, index: replace(true(self, index), images=()))
    refused("check_image_gradient", make_case(tmp_path), "rows of a batch lose its images")


def test_engine_that_accepts_missing_images_is_refused(tmp_path):
    class Lenient(LocalEngine):
        def sample(self, requests):
            images = engine_images.example_images()
            return super().sample([request._replace(images=images) for request in requests])

    refused("check_image_refusals", make_case(tmp_path, engine_class=Lenient), "ids of a missing image must be refused")


def test_example_rows_cover_every_position():
    rows = engine_images.example_image_rows(vision_model())
    shown = [[bool(is_image_id(token)) for token in row] for row in rows]
    assert any(row[0] for row in shown) and any(row[-1] for row in shown) and any(not any(row) for row in shown)
    batch = engine_images.example_image_batch(vision_model())
    assert not bool((batch.mask_BT & is_image_id(batch.ids_BT)).any())
    assert isinstance(Sample(rows[0], None, 0, frozenset()).images, tuple)
    assert torch.equal(batch.ids_BT[0, : len(rows[0])], torch.tensor(rows[0]))
