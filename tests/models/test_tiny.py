import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel, TinyNet

SMALL = TinyConfig(width=32, layers=2, heads=2, max_length=64)


def make_model():
    model = TinyModel.new(SMALL, seed=1)
    model.module.double()
    return model


def compute_logits(model, rows):
    ids_BT = torch.tensor(rows)
    return model.head(model.hidden(ids_BT, torch.ones_like(ids_BT).bool()))


def test_default_model_has_a_million_parameters():
    assert 0.2e6 < sum(p.numel() for p in TinyModel.new().module.parameters()) < 3e6


def test_right_padding_does_not_change_logits():
    model, row = make_model(), [3, 1, 4, 1, 5]
    with torch.no_grad():
        plain, padded = compute_logits(model, [row]), compute_logits(model, [row + [model.pad_id] * 6])
    assert torch.allclose(plain[0], padded[0, :5], atol=1e-12)


def test_later_tokens_do_not_change_earlier_logits():
    model = make_model()
    with torch.no_grad():
        first, second = compute_logits(model, [[1, 2, 3, 4]]), compute_logits(model, [[1, 2, 3, 99]])
    assert torch.equal(first[0, :3], second[0, :3]) and not torch.allclose(first[0, 3], second[0, 3])


def test_equal_seeds_give_equal_weights_without_global_randomness():
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    a, b, c = TinyModel.new(SMALL, seed=1), TinyModel.new(SMALL, seed=1), TinyModel.new(SMALL, seed=2)
    assert torch.equal(a.module.embed.weight, b.module.embed.weight)
    assert not torch.equal(a.module.embed.weight, c.module.embed.weight)
    assert torch.equal(state, torch.random.get_rng_state())


def test_saved_model_loads_with_equal_parameters(tmp_path):
    model = TinyModel.new(SMALL, seed=3)
    model.save(tmp_path / "m")
    loaded = TinyModel.load(tmp_path / "m")
    assert loaded.module.config == SMALL
    for a, b in zip(model.module.parameters(), loaded.module.parameters(), strict=True):
        assert torch.equal(a, b)


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
