import torch

from handaxe.engines.cluster.meta_model import meta_model, with_weights
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_hollow_models_take_no_memory_and_can_be_filled():
    model = TinyModel.new(CONFIG)
    model.module.twice = model.module.embed.weight  # one parameter in two places
    model.module.register_buffer("count", torch.tensor(3.0))
    model.module.norm.weight.requires_grad_(False)
    bare = meta_model(model)
    assert all(p.is_meta for p in bare.module.parameters()) and bare.module.count == 3
    assert bare.module.twice is bare.module.embed.weight and bare.max_length == 20
    tensors = {name: p.detach() for name, p in model.module.named_parameters()}
    full = with_weights(bare, {**tensors, "count": torch.tensor(4.0)})
    assert full.module.twice is full.module.embed.weight and full.module.count == 4 and bare.module.count == 3
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(full.hidden(ids, ids > 0), model.hidden(ids, ids > 0))
    assert full.module.embed.weight.data_ptr() == model.module.embed.weight.data_ptr(), "nothing is copied"
    assert [p.requires_grad for p in full.module.parameters()] == [p.requires_grad for p in model.module.parameters()]
    assert not model.module.embed.weight.is_meta
