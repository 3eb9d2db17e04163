import hashlib
import json
from dataclasses import replace

import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import CONFIG as VISION
from helpers.vision_policy import vision_model

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import VisionModel
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel, TinyNet
from handaxe.models.tiny import _causal as causal

SMALL = TinyConfig(width=32, layers=2, heads=2, max_length=64)
GROUPED = replace(SMALL, heads=4, kv_heads=2)


def make_model(config=SMALL):
    model = TinyModel.new(config, seed=1)
    model.module.double()
    return model


def compute_logits(model, rows):
    ids_BT = torch.tensor(rows)
    return model.head(model.hidden(ids_BT, torch.ones_like(ids_BT).bool()))


def test_default_model_has_a_million_parameters():
    assert 0.2e6 < sum(p.numel() for p in TinyModel.new().module.parameters()) < 3e6


@pytest.mark.parametrize("config", [SMALL, GROUPED])
def test_right_padding_does_not_change_logits(config):
    model, row = make_model(config), [3, 1, 4, 1, 5]
    with torch.no_grad():
        plain, padded = compute_logits(model, [row]), compute_logits(model, [row + [model.pad_id] * 6])
    assert torch.allclose(plain[0], padded[0, :5], atol=1e-12)


@pytest.mark.parametrize("config", [SMALL, GROUPED])
def test_later_tokens_do_not_change_earlier_logits(config):
    model = make_model(config)
    with torch.no_grad():
        first, second = compute_logits(model, [[1, 2, 3, 4]]), compute_logits(model, [[1, 2, 3, 99]])
    assert torch.equal(first[0, :3], second[0, :3]) and not torch.allclose(first[0, 3], second[0, 3])


def test_equal_seeds_give_equal_weights_without_global_randomness():
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    a = TinyModel.new(SMALL, seed=1)
    b = TinyModel.new(SMALL, seed=1)
    c = TinyModel.new(SMALL, seed=2)
    assert torch.equal(a.module.embed.weight, b.module.embed.weight)
    assert not torch.equal(a.module.embed.weight, c.module.embed.weight)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("config", [SMALL, GROUPED])
def test_saved_model_loads_with_equal_parameters(tmp_path, config):
    model = TinyModel.new(config, seed=3)
    model.save(tmp_path / "m")
    loaded = TinyModel.load(tmp_path / "m")
    assert loaded.module.config == config
    for a, b in zip(model.module.parameters(), loaded.module.parameters(), strict=True):
        assert torch.equal(a, b)


def test_config_without_kv_heads_is_as_before(tmp_path):
    TinyModel.new(SMALL).save(tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    assert written == {"vocab_size": 264, "width": 32, "layers": 2, "heads": 2, "max_length": 64}
    assert TinyModel.load(tmp_path).module.config.cached_heads == 2


def test_bfloat16_weights_load_as_the_rounded_float32(tmp_path):
    model = TinyModel.new(GROUPED, seed=3)
    model.pieces = '{"pattern": ".", "merges": []}'
    model.save(tmp_path / "half", dtype=torch.bfloat16)
    model.save(tmp_path / "whole")
    loaded = TinyModel.load(tmp_path / "half")
    assert json.loads((tmp_path / "half" / "config.json").read_text())["dtype"] == "bfloat16"
    assert loaded.module.config == GROUPED and loaded.pieces == model.pieces
    for a, b in zip(model.module.parameters(), loaded.module.parameters(), strict=True):
        assert b.dtype == torch.float32 and torch.equal(a.bfloat16().float(), b)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.55 * sizes[1]


def slow_grouped_attention(q, k, v):
    """Attention of one row, head by head and position by position."""
    out = torch.zeros_like(q)
    for head in range(len(q)):
        shared = head * len(k) // len(q)
        for t in range(q.shape[1]):
            scores = torch.stack([q[head, t] @ k[shared, s] for s in range(t + 1)]) / q.shape[-1] ** 0.5
            out[head, t] = scores.softmax(0) @ v[shared, : t + 1]
    return out


def test_grouped_queries_share_keys_and_values_of_their_group():
    block = make_model(GROUPED).module.stack[0]
    x_BTD = torch.randn(1, 5, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rotation = make_model(GROUPED).module.rotation(torch.arange(5)[None])
    q, k, v = block.project(x_BTD, rotation)
    assert q.shape == (1, 4, 5, 8) and k.shape == v.shape == (1, 2, 5, 8)
    want = block.mix(x_BTD, slow_grouped_attention(q[0], k[0], v[0])[None])
    torch.testing.assert_close(block(x_BTD, rotation, causal), want, rtol=0, atol=1e-6)


def test_equal_key_values_in_a_group_give_the_ungrouped_model():
    """Copying each key-value head of a grouped model to its query heads gives an ungrouped model of equal logits."""
    grouped, whole = make_model(GROUPED), make_model(replace(GROUPED, kv_heads=None))
    state = grouped.module.state_dict()
    for name, weight in state.items():
        if name.endswith("qkv.weight"):
            query, key, value = weight.split([32, 16, 16])
            parts = (part.view(2, 8, 32).repeat_interleave(2, 0).flatten(0, 1) for part in (key, value))
            state[name] = torch.cat([query, *parts])
    whole.module.load_state_dict(state)
    with torch.no_grad():
        pairs = [compute_logits(model, [[3, 1, 4, 1, 5, 9]]) for model in (grouped, whole)]
    torch.testing.assert_close(*pairs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("damage", ["missing", "cut", "other size", "not json"])
def test_damaged_checkpoint_is_a_checkpoint_error(tmp_path, damage):
    TinyModel.new(SMALL, seed=3).save(tmp_path)
    weights, config = tmp_path / "model.safetensors", tmp_path / "config.json"
    if damage == "missing":
        weights.unlink()
    elif damage == "cut":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif damage == "other size":
        config.write_text(config.read_text().replace('"width": 32', '"width": 64'))
    else:
        config.write_text("{")
    with pytest.raises(CheckpointError, match="no tiny model can be read from"):
        TinyModel.load(tmp_path)


def test_extended_context_changes_no_logit_and_reads_on(tmp_path):
    model, row = make_model(), list(range(60))
    with torch.no_grad():
        before = compute_logits(model, [row])
        model.extend_context(16)
        assert model.max_length == 64
        model.extend_context(128)
        longer = compute_logits(model, [row * 2])
    assert torch.allclose(before, longer[:, :60], atol=1e-12)
    model.save(tmp_path)
    assert TinyModel.load(tmp_path).max_length == model.max_length == 128
    found = LocalEngine(TinyModel.load(tmp_path)).sample([Sample(row, Sampling(max_tokens=60), 0, frozenset())])
    assert len(found[0].ids) == 60


def test_width_without_even_heads_is_an_input_error():
    with pytest.raises(InputError, match="must split into"):
        TinyNet(TinyConfig(width=30, heads=4))
    with pytest.raises(InputError, match="kv_heads is 3: give a divisor of the 4 heads"):
        TinyNet(TinyConfig(kv_heads=3))


# --- vision --------------------------------------------------------------------------------------------------------


def test_files_of_a_model_without_vision_are_those_of_before(tmp_path):  # trap 35
    """Digests are those of the version before vision."""
    TinyModel.new(SMALL, seed=1).save(tmp_path)
    digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in tmp_path.iterdir()}
    assert digests == {
        "config.json": "df2fb1f5bd5f03e1e0ecda8ccd8a5feb191828c3f00c05b2594b2054ef1ae1ca",
        "model.safetensors": "504bbbabcb25d288af6d86c94611666b7954ee11ca57f04bba7a462fbfefb6a0",
    }


def test_text_weights_are_equal_with_and_without_vision():
    text, seeing = (TinyModel.new(replace(VISION, patch=patch), seed=4) for patch in (0, 8))
    weights = seeing.module.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in text.module.state_dict().items())
    assert {name.split(".")[0] for name in weights.keys() - text.module.state_dict().keys()} == {"vision"}
    assert isinstance(seeing, VisionModel) and not isinstance(text, VisionModel)


def test_model_with_vision_is_saved_and_loaded(tmp_path):
    model = vision_model(torch.float32)
    model.save(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["patch"] == 8
    loaded, image = TinyModel.load(tmp_path), noise(width=16, height=16)
    assert loaded.image_processor == model.image_processor
    ids_BT = torch.tensor([[1, *image.ids(4), 2]])
    one, other = (each.hidden(ids_BT, torch.ones_like(ids_BT).bool(), [image]) for each in (model, loaded))
    assert torch.equal(one, other)


def test_token_after_an_image_has_no_previous_id():
    """With one token after the image, only the image's own vectors and that token's embedding count."""
    model, image = vision_model(), noise(width=8, height=8)
    ids_N, before_N = torch.tensor([*image.ids(1), 7, 9]), torch.tensor([-1, *image.ids(1), 7])
    with torch.no_grad():
        found = model.module.embed_images(ids_N, before_N, [image])
        embed, before = model.module.embed.weight, model.module.embed_before.weight
        want = torch.stack([model.image_features([image])[0][0][0], embed[7], embed[9] + before[7]])
    torch.testing.assert_close(found, want, rtol=0, atol=1e-12)


def test_features_of_a_repeated_image_are_computed_once():
    model, image = vision_model(), noise(width=8, height=8)
    calls = []
    model.module.vision.register_forward_hook(lambda module, inputs, output: calls.append(len(inputs[0])))
    first, second, third = model.image_features([image, noise(1, 16, 16), image])
    assert calls == [2] and torch.equal(first[0], third[0]) and second[0].shape == (4, 32)
    assert model.position_shift(image.ids(1), {}) == 0


def test_frozen_tower_is_reported():
    model = vision_model()
    assert model.trains_vision
    model.module.vision.requires_grad_(False)
    assert not model.trains_vision and not make_model().trains_vision


def test_text_model_refuses_images():
    model, image = make_model(), noise(width=8, height=8)
    ids_BT = torch.tensor([[1, *image.ids(1)]])
    for call in (
        lambda: model.hidden(ids_BT, torch.ones_like(ids_BT).bool(), [image]),
        lambda: model.image_features([image]),
    ):
        with pytest.raises(InputError, match=r"reads no images: make one with TinyConfig\(patch=8\)"):
            call()


def test_recomputed_activations_give_the_same_gradient_with_images():
    image, gradients = noise(width=16, height=16), []
    for checkpointing in (False, True):
        model = vision_model()
        model.checkpointing = checkpointing
        ids_BT = torch.tensor([[1, *image.ids(4), 2]])
        model.hidden(ids_BT, torch.ones_like(ids_BT).bool(), [image]).square().sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.module.vision.parameters()]))
    assert torch.allclose(*gradients, atol=1e-9) and gradients[0].abs().max() > 0
