import copy

import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.mah_dpo.many_heads import HeadMix, ManyHeads, many_heads

SMALL = TinyConfig(vocab_size=12, width=8, layers=1, heads=2, max_length=32)


def small_model(heads=2, noise=0.5):
    model = TinyModel.new(SMALL, seed=3)
    model.module.double()
    return model, many_heads(model, heads=heads, noise=noise, seed=1)


def test_mixed_logits_by_hand():
    _, many = small_model()
    with torch.no_grad():
        for head, row in zip(many.module.heads, ((2.0, 0.0), (0.0, 1.0))):
            head.zero_()
            head[:2, 0] = torch.tensor(row, dtype=torch.float64)
    x_D = torch.zeros(8, dtype=torch.float64)
    x_D[0] = 1.0
    with many.mix.use((0.75, 0.25)):
        assert many.head(x_D)[:2].tolist() == [1.5, 0.25]


@pytest.mark.exact
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.2, 0.8), (2.0, -1.0)])
def test_mixed_logits_are_the_weighted_sum_of_the_logits_of_each_head(weights):
    _, many = small_model()
    x_ND = torch.randn(5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    slow = [
        [sum(w * float((head[v] @ x_D).detach()) for w, head in zip(weights, many.module.heads)) for v in range(12)]
        for x_D in x_ND
    ]
    with many.mix.use(weights):
        torch.testing.assert_close(many.head(x_ND), torch.tensor(slow, dtype=torch.float64), atol=1e-6, rtol=0)
        weight, bias = many.linear_head()
        assert bias is None and torch.equal(x_ND @ weight.T, many.head(x_ND))


@pytest.mark.exact
def test_weights_one_and_zero_equal_head_zero_alone():
    """A plain model with head 0 as output layer has the same logits, bit for bit; so has a sampled completion."""
    plain, many = small_model()
    alone = ManyHeads(copy.deepcopy(many.module))
    alone.module.heads = alone.module.heads[:1]
    alone.module.mix = HeadMix(1)
    ids_BT = torch.tensor([[1, 2, 3, 4]])
    attend_BT = torch.ones_like(ids_BT, dtype=torch.bool)
    with many.mix.use((1.0, 0.0)):
        both = many.head(many.hidden(ids_BT, attend_BT))
    expected = plain.hidden(ids_BT, attend_BT) @ many.module.heads[0].T
    assert torch.equal(both, expected) and torch.equal(alone.head(alone.hidden(ids_BT, attend_BT)), expected)
    with many.mix.only(1):
        assert not torch.equal(many.head(many.hidden(ids_BT, attend_BT)), expected)


def test_sampling_follows_the_weights():
    _, many = small_model()
    request = Sample((1, 2, 3), Sampling(temperature=0.0, max_tokens=6), seed=0, stop=frozenset())
    engine = LocalEngine(many)
    drawn = []
    for head in range(2):
        with many.mix.only(head):
            drawn.append(engine.sample([request])[0].ids)
    ids = [1, 2, 3]
    with many.mix.only(1), torch.no_grad():
        for _ in drawn[1]:
            row_BT = torch.tensor([ids])
            ids.append(int(many.head(many.hidden(row_BT, row_BT > 0))[0, -1].argmax()))
    assert list(drawn[1]) == ids[3:] and drawn[0] != drawn[1]


def test_heads_start_as_noisy_copies_of_the_output_layer():
    model, many = small_model(heads=3, noise=0.001)
    gaps = [(head - model.module.embed.weight).detach() for head in many.module.heads]
    assert all(0.0005 < float(gap.std()) < 0.0015 for gap in gaps)
    assert not torch.equal(gaps[0], gaps[1]) and not torch.equal(gaps[1], gaps[2])
    assert torch.equal(many_heads(model, heads=3, noise=0.001, seed=1).module.heads[2], many.module.heads[2])
    before = torch.get_rng_state()
    many_heads(model)
    assert torch.equal(torch.get_rng_state(), before)


def test_saved_heads_are_loaded_to_the_bit(tmp_path):
    model = many_heads(TinyModel.new(SMALL), heads=3)
    model.save(tmp_path)
    loaded = ManyHeads.load(tmp_path)
    for (name, one), (other_name, two) in zip(
        model.module.named_parameters(), loaded.module.named_parameters(), strict=True
    ):
        assert name == other_name and torch.equal(one, two)
    assert len(loaded.mix.weights) == 3


def test_a_copy_shares_the_weights_of_the_mix():
    _, many = small_model()
    other = copy.deepcopy(many)
    with many.mix.use((0.25, 0.75)):
        assert other.mix.weights == (0.25, 0.75)
    assert other.mix.weights == (0.5, 0.5)


@pytest.mark.parametrize("weights", [(1.0,), (0.0, 0.0), (float("nan"), 1.0)])
def test_bad_weights_are_refused(weights):
    with pytest.raises(InputError, match="2 heads takes as many finite weights"), HeadMix(2).use(weights):
        pass


def test_bad_models_are_refused(tmp_path):
    with pytest.raises(InputError, match="many_heads takes a TinyModel"):
        many_heads(object())
    for options in ({"heads": 0}, {"noise": -1.0}):
        with pytest.raises(InputError, match="1 head or more"):
            many_heads(TinyModel.new(SMALL), **options)
    with pytest.raises(CheckpointError, match="no weights can be read"):
        ManyHeads.load(tmp_path)
    TinyModel.new(SMALL).save(tmp_path)
    with pytest.raises(CheckpointError, match="has no heads"):
        ManyHeads.load(tmp_path)
