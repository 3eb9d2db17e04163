import torch

from handaxe.engines.cluster.meta_model import materialize, meta_model
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_meta_model_takes_no_memory_and_materializes():
    model = TinyModel.new(CONFIG)
    model.module.twice = model.module.embed.weight  # a shared parameter
    model.module.register_buffer("count", torch.tensor(3.0))
    model.module.norm.weight.requires_grad_(False)
    meta = meta_model(model)
    assert all(p.is_meta for p in meta.module.parameters()) and meta.module.count == 3
    assert meta.module.twice is meta.module.embed.weight and meta.max_length == 20
    tensors = {name: p.detach() for name, p in model.module.named_parameters()}
    full = materialize(meta, {**tensors, "count": torch.tensor(4.0)})
    assert full.module.twice is full.module.embed.weight and full.module.count == 4 and meta.module.count == 3
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(full.hidden(ids, ids > 0), model.hidden(ids, ids > 0))
    assert full.module.embed.weight.data_ptr() == model.module.embed.weight.data_ptr(), "nothing is copied"
    assert [p.requires_grad for p in full.module.parameters()] == [p.requires_grad for p in model.module.parameters()]
    assert not model.module.embed.weight.is_meta
