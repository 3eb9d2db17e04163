import pytest
import torch

from handaxe.errors import CheckpointError, InputError
from handaxe.models.tiny import TinyConfig, TinyModel, TinyNet

SMALL = TinyConfig(width=32, layers=2, heads=2, max_length=64)


def model():
    made = TinyModel.new(SMALL, seed=1)
    made.module.double()
    return made


def last_logits(made, row):
    return made.forward(torch.tensor([row]), torch.ones(1, len(row)).bool())[0][0, -1]


def test_the_default_is_of_the_promised_size():
    assert 0.2e6 < sum(p.numel() for p in TinyModel.new().module.parameters()) < 3e6


def test_the_cache_gives_what_the_whole_forward_gives():
    """Ragged prefill, rows dropped and doubled, then four tokens each: equal to a forward over the whole row."""
    made, rows = model(), [[1, 2, 3], [5, 6, 7, 8, 9, 10], [4]]
    with torch.no_grad():
        logits, cache = made.prefill(rows, 4)
        for i, row in enumerate(rows):
            assert torch.allclose(last_logits(made, row), logits[i], atol=1e-12)
        cache = made.keep(cache, torch.tensor([2, 0, 0, 1]))
        rows = [rows[2], rows[0], rows[0], rows[1]]
        for step in range(4):
            new = [11 + step, 12, 13, 14]
            logits, cache = made.decode(torch.tensor(new), cache)
            rows = [[*row, token] for row, token in zip(rows, new, strict=True)]
            for i, row in enumerate(rows):
                assert torch.allclose(last_logits(made, row), logits[i], atol=1e-12)


def test_padding_on_the_right_changes_nothing():
    made, row = model(), [3, 1, 4, 1, 5]
    with torch.no_grad():
        plain, _ = made.forward(torch.tensor([row]), torch.ones(1, 5).bool())
        padded, _ = made.forward(torch.tensor([row + [made.pad_id] * 6]), torch.ones(1, 11).bool())
    assert torch.allclose(plain[0], padded[0, :5], atol=1e-12)


def test_a_later_token_never_changes_an_earlier_logit():
    made = model()
    with torch.no_grad():
        one, _ = made.forward(torch.tensor([[1, 2, 3, 4]]), torch.ones(1, 4).bool())
        other, _ = made.forward(torch.tensor([[1, 2, 3, 99]]), torch.ones(1, 4).bool())
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
