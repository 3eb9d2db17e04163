import copy

import numpy as np
import pytest
import torch
from helpers.vision_families import (
    EACH_FAMILY,
    GRIDS,
    A,
    B,
    C,
    conversation,
    own_model,
    read_row,
    relative,
    shared,
    whole_call,
)

from handaxe.core.errors import InputError
from handaxe.core.images import image_spans
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.vision import KeptImages, Vision

pytestmark = pytest.mark.hf
pytest.importorskip("transformers")


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_features_of_a_frozen_tower_are_computed_once(family):
    vision = own_model(family, trained=False).vision
    first = vision.features([A, B, A])
    assert vision.computed == 2 and first[0] is first[2]
    with torch.inference_mode():
        assert vision.features([A])[0] is first[0] and not first[0][0].is_inference()
    assert len(first[0][0]) == vision.images.tokens(A).features.sum()
    assert copy.deepcopy(vision)._kept.tokens == 0


def test_kept_features_are_limited_and_the_last_used_stay():
    model = own_model("qwen2_5_vl", trained=False)
    tokens = [int(model.image_processor.tokens(image).features.sum()) for image in (A, B, C)]
    vision = Vision(model.module, model.image_processor, kept_tokens=tokens[0] + tokens[2])
    for image in (A, B, A, C, A):
        vision.features([image])
    assert vision.computed == 3, "B made room for C"
    vision.features([B])
    assert vision.computed == 4


def test_engine_bounds_the_kept_features_and_counts_their_use():
    model = own_model("qwen2_5_vl", trained=False)
    tokens = [int(model.image_processor.tokens(image).features.sum()) for image in (A, B)]
    engine = LocalEngine(own_model("qwen2_5_vl"), kept_image_tokens=tokens[0] + tokens[1])
    twin, none = engine.twin(), LocalEngine(model, kept_image_tokens=0)
    with torch.no_grad():
        for each in (engine, twin, none):
            for image in (A, B, A, A):
                each.model.image_features([image])
    assert engine.model.vision.kept == twin.model.vision.kept == KeptImages(2, 2, sum(tokens), sum(tokens))
    assert none.model.vision.kept == KeptImages(4, 0, 0, 0)
    model.keep_features(tokens[0])
    with torch.no_grad():
        assert len(model.image_features([A, B, A])) == 3
    assert model.vision.kept == KeptImages(7, 0, tokens[0], tokens[0])
    with pytest.raises(InputError, match="kept_image_tokens at least 0"):
        LocalEngine(model, kept_image_tokens=-1)


@pytest.mark.parametrize("family", ["qwen2_5_vl"])
def test_kept_features_do_not_outlive_a_change_of_the_tower(family):
    vision = own_model(family).vision
    with torch.no_grad():
        before = vision.features([A])[0][0]
        next(iter(vision.parameters.values())).mul_(1.5)
        after = vision.features([A])[0][0]
    assert relative(after, before) > 1e-3 and vision.computed == 2


def test_a_forward_with_a_gradient_keeps_nothing_and_computes_an_image_once():
    vision = own_model("qwen2_5_vl").vision
    found = vision.features([A, B, A])
    assert vision.computed == 2 and found[0][0].requires_grad
    vision.features([A])
    assert vision.computed == 3


@pytest.mark.parametrize(("family", "unreached"), [("gemma3", 11), ("llava_onevision", 2), ("qwen2_5_vl", 0)])
def test_parameters_that_no_feature_depends_on_stay_frozen(family, unreached):
    vision = own_model(family).vision
    assert sum(not parameter.requires_grad for parameter in vision.parameters.values()) == unreached
    assert vision.trained
    vision.train(False)
    assert not vision.trained


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_a_sampled_placeholder_is_text(family):
    """transformers raises "Image features and image tokens do not match" for such a row."""
    model = own_model(family, trained=False)
    _, ids = conversation(family, A, B)
    with torch.no_grad():
        plain = read_row(model, [*ids, 5])
        for token in sorted(model.image_processor.vocabulary_ids):
            if token < model.vocab_size:
                found = read_row(model, [*ids, token])
                assert found.isfinite().all() and (found[:-1] == plain[:-1]).all()
                assert relative(found[-1], plain[-1]) > 1e-3


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_features_of_another_place_or_image_show(family):
    model = own_model(family, trained=False)
    _, ids = conversation(family, A, B)
    with torch.no_grad():
        right = read_row(model, ids)
        features = model.vision._kept.found[B.key]
        model.vision._kept.found[B.key] = [layer.roll(1, 0) for layer in features]
        assert relative(read_row(model, ids), right) > 1e-2


@pytest.mark.parametrize("family", [name for name in GRIDS if name == "qwen2_5_vl"] + [
    pytest.param(name, marks=pytest.mark.slow) for name in GRIDS if name != "qwen2_5_vl"])  # fmt: skip
def test_positions_equal_those_of_transformers(family):
    model = own_model(family, trained=False)
    text, ids = conversation(family, A, C)
    made = whole_call(family, text, [A, C])
    types = (made["input_ids"] == model.image_processor._feature_id).int()
    want, _ = model.module.model.get_rope_index(
        made["input_ids"], mm_token_type_ids=types, image_grid_thw=made["image_grid_thw"],
        attention_mask=torch.ones_like(types),
    )  # fmt: skip
    array = np.array(ids)
    images = {A.key: A, C.key: C}
    found = model._positions(array, np.arange(len(ids)), np.full(len(ids), len(ids) - 1), images)
    assert (found == want[:, 0].numpy()).all()
    assert model.position_shift(ids, images) == want.max() + 1 - len(ids)
    start, stop, _ = image_spans(ids)[0]
    assert model.position_shift(ids[:start], images) == 0 > model.position_shift(ids[:stop], images)


def test_positions_of_an_earlier_generation_change_no_forward():
    """transformers keeps `rope_deltas` on the module, for a forward without positions: trap 5 of images."""
    model = own_model("qwen2_5_vl", trained=False)
    ids = conversation("qwen2_5_vl", A, C)[1]
    with torch.no_grad():
        want = read_row(model, ids)
        model.module.model.rope_deltas = torch.tensor([[-17]])
        assert torch.equal(read_row(model, ids), want)


def test_missing_image_and_wrong_processor_are_one_sentence():
    model = own_model("qwen2_5_vl")
    with pytest.raises(InputError, match=f"no image with the key {B.key} is given beside the ids"):
        read_row(model, conversation("qwen2_5_vl", A, B)[1], (A,))
    images = shared("qwen2_vl").images
    wrong = Vision(model.module, images)
    wrong.images = copy.copy(images)
    tokens = images.tokens(A)
    wrong.images.tokens = lambda image: tokens._replace(features=np.append(tokens.features, True))
    with pytest.raises(InputError, match="the model makes 8 features of .* and its processor 9 tokens"):
        wrong.features([A])
