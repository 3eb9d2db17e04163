import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.models.tiny import TinyConfig, TinyModel, TinyNet

SMALL = TinyConfig(width=32, layers=2, heads=2, max_length=64)


def model():
    made = TinyModel.new(SMALL, seed=1)
    made.module.double()
    return made


def logits_of(made, rows):
    ids_BT = torch.tensor(rows)
    return made.head(made.hidden(ids_BT, torch.ones_like(ids_BT).bool()))


def test_the_default_is_of_the_promised_size():
    assert 0.2e6 < sum(p.numel() for p in TinyModel.new().module.parameters()) < 3e6


def test_padding_on_the_right_changes_nothing():
    made, row = model(), [3, 1, 4, 1, 5]
    with torch.no_grad():
        plain, padded = logits_of(made, [row]), logits_of(made, [row + [made.pad_id] * 6])
    assert torch.allclose(plain[0], padded[0, :5], atol=1e-12)


def test_a_later_token_never_changes_an_earlier_logit():
    made = model()
    with torch.no_grad():
        one, other = logits_of(made, [[1, 2, 3, 4]]), logits_of(made, [[1, 2, 3, 99]])
    assert torch.equal(one[0, :3], other[0, :3]) and not torch.allclose(one[0, 3], other[0, 3])


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    a, b, c = TinyModel.new(SMALL, seed=1), TinyModel.new(SMALL, seed=1), TinyModel.new(SMALL, seed=2)
    assert torch.equal(a.module.embed.weight, b.module.embed.weight)
    assert not torch.equal(a.module.embed.weight, c.module.embed.weight)
    assert torch.equal(before, torch.random.get_rng_state())


def test_saved_and_loaded_is_the_same(tmp_path):
    made = TinyModel.new(SMALL, seed=3)
    made.save(tmp_path / "m")
    again = TinyModel.load(tmp_path / "m")
    assert again.module.config == SMALL
    for a, b in zip(made.module.parameters(), again.module.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("damage", ["missing", "cut", "other size", "not json"])
def test_a_damaged_checkpoint_gets_one_clear_error(tmp_path, damage):
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


def test_heads_must_divide_the_width():
    with pytest.raises(InputError, match="must split into"):
        TinyNet(TinyConfig(width=30, heads=4))
