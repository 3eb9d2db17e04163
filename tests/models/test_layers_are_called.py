"""Every layer of a model is called as a module, so that what hooks into it (sharding gathers its weights so) sees the
call: once a forward, in training and in decoding, and with the weights that are there at that moment."""

import numpy as np
import pytest
import torch

from handaxe.core.model_api import Reading
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.models.trunk import Trunk
from handaxe.ops.trees import forest, make_pack

CPU = torch.device("cpu")
ROWS = [[5, 6, 7, 8], [5, 6, 9], [4, 3, 2]]


def tiny():
    made = TinyModel.new(TinyConfig(vocab_size=41, width=16, layers=3, heads=2, max_length=32))
    made.module.double()
    return made, list(made.module.stack)


def llama():
    transformers = pytest.importorskip("transformers")
    from handaxe.models.huggingface_cache import PretrainedSlots

    torch.manual_seed(0)
    sizes = {"vocab_size": 41, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32}
    made = Trunk(transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads)).double().eval())
    made.slots = lambda: PretrainedSlots(made, 32, made.decoder())
    made.decoder(), made.linear_head()  # found out by reading something, before anything hooks into it
    return made, list(made.module.model.layers)


MODELS = [tiny, pytest.param(llama, marks=pytest.mark.hf)]


class Gathering:
    """Layers without weights except while each is called, as a sharded layer is; counts."""

    def __init__(self, layers):
        self.log, self.kept = [], [[parameter.data for parameter in layer.parameters()] for layer in layers]
        for index, layer in enumerate(layers):
            self.empty(index, layer)
            layer.register_forward_pre_hook(lambda layer, given, index=index: self.fill(index, layer))
            layer.register_forward_hook(lambda layer, given, out, index=index: self.empty(index, layer))

    def fill(self, index, layer):
        self.log.append(("before", index))
        for parameter, kept in zip(layer.parameters(), self.kept[index]):
            parameter.data = kept

    def empty(self, index, layer):
        self.log.append(("after", index))
        for parameter, kept in zip(layer.parameters(), self.kept[index]):
            parameter.data = torch.full_like(kept, torch.nan)


def calls(layers):
    return [(when, index) for index in range(len(layers)) for when in ("before", "after")]


def decoded(made):
    cache = made.slots()
    cache.reserve(len(ROWS), 16)
    yield cache.read([Reading(slot, ids, 0) for slot, ids in enumerate(ROWS)], [])
    for step in range(2):
        before = [ids[-1] if step == 0 else 1 for ids in ROWS]
        yield cache.write([[1]] * len(ROWS), before, [len(ids) + step for ids in ROWS])


@pytest.mark.parametrize("make", MODELS)
@torch.inference_mode()
def test_decoding_calls_every_layer_once_a_token(make):
    want = list(decoded(make()[0]))
    made, layers = make()
    with torch.inference_mode(False):
        seen = Gathering(layers)
    got = []
    for logits in (steps := decoded(made)):
        assert seen.log[-2 * len(layers) :] == calls(layers)
        got.append(logits)
    steps.close()
    assert len(seen.log) == len(layers) + len(got) * 2 * len(layers)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def read_tree(made):
    trees = forest([np.array(row, np.int64) for row in ROWS])
    return made.hidden_tree(make_pack(trees, range(len(trees.roots_R)), CPU))


def read_rows(made):
    ids_BT = torch.tensor([ROWS[0]])
    return made.hidden(ids_BT, torch.ones_like(ids_BT, dtype=torch.bool))


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("read", [read_tree, read_rows])
@pytest.mark.parametrize("make", MODELS)
def test_training_calls_every_layer_once(make, read, checkpointing):
    """Whether a layer that is computed again is called again does not matter: the hooks of its backward have run."""
    plain, (made, layers), log = make()[0], make(), []
    plain.checkpointing = made.checkpointing = checkpointing
    want = read(plain)
    for index, layer in enumerate(layers):
        layer.register_forward_pre_hook(lambda layer, given, index=index: log.append(("before", index)))
        layer.register_forward_hook(lambda layer, given, out, index=index: log.append(("after", index)))
    got = read(made)
    assert log == calls(layers)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
    for out in (got, want):
        out.square().sum().backward()
    assert checkpointing or log == calls(layers)
    for (name, one), other in zip(made.module.named_parameters(), plain.module.parameters()):
        assert (one.grad is None) == (other.grad is None), name
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=1e-12)
