"""Tests that models call each layer once per forward, as a module and with the current weights.

Sharding relies on this: hooks of a layer gather the weights before the call.
"""

import numpy as np
import pytest
import torch

from handaxe.core.model_api import Reading
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.models.trunk import Trunk
from handaxe.ops.token_trees import build_forest, make_pack

CPU = torch.device("cpu")
ROWS = [[5, 6, 7, 8], [5, 6, 9], [4, 3, 2]]


def tiny():
    model = TinyModel.new(TinyConfig(vocab_size=41, width=16, layers=3, heads=2, max_length=32))
    model.module.double()
    return model, list(model.module.stack)


def llama():
    transformers = pytest.importorskip("transformers")
    from handaxe.models.huggingface_cache import HuggingFaceSlots

    torch.manual_seed(0)
    sizes = {"vocab_size": 41, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32}
    model = Trunk(transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads)).double().eval())
    model.slots = lambda: HuggingFaceSlots(model, 32, model.decoder())
    model.decoder(), model.linear_head()  # the probes run before the hooks exist
    return model, list(model.module.model.layers)


MODELS = [tiny, pytest.param(llama, marks=pytest.mark.hf)]


class Gathering:
    """Fake sharding: the weights of a layer exist only inside its call. Logs the calls."""

    def __init__(self, layers):
        self.log, self.weights = [], [[parameter.data for parameter in layer.parameters()] for layer in layers]
        for index, layer in enumerate(layers):
            self.empty(index, layer)
            layer.register_forward_pre_hook(lambda layer, given, index=index: self.fill(index, layer))
            layer.register_forward_hook(lambda layer, given, out, index=index: self.empty(index, layer))

    def fill(self, index, layer):
        self.log.append(("before", index))
        for parameter, weights in zip(layer.parameters(), self.weights[index]):
            parameter.data = weights

    def empty(self, index, layer):
        self.log.append(("after", index))
        for parameter, weights in zip(layer.parameters(), self.weights[index]):
            parameter.data = torch.full_like(weights, torch.nan)


def expected_calls(layers):
    return [(event, index) for index in range(len(layers)) for event in ("before", "after")]


def decode_steps(model):
    cache = model.slots()
    cache.reserve(len(ROWS), 16)
    yield cache.read([Reading(slot, ids, 0) for slot, ids in enumerate(ROWS)], [])
    for step in range(2):
        before = [ids[-1] if step == 0 else 1 for ids in ROWS]
        yield cache.write([[1]] * len(ROWS), before, [len(ids) + step for ids in ROWS])


@pytest.mark.parametrize("make", MODELS)
@torch.inference_mode()
def test_decoding_calls_each_layer_once_per_token(make):
    want = list(decode_steps(make()[0]))
    model, layers = make()
    with torch.inference_mode(False):
        sharding = Gathering(layers)
    got = []
    for logits in (steps := decode_steps(model)):
        assert sharding.log[-2 * len(layers) :] == expected_calls(layers)
        got.append(logits)
    steps.close()
    assert len(sharding.log) == len(layers) + len(got) * 2 * len(layers)
    for got_RV, want_RV in zip(got, want, strict=True):
        torch.testing.assert_close(got_RV, want_RV, rtol=0, atol=1e-12)


def hidden_of_trees(model):
    trees = build_forest([np.array(row, np.int64) for row in ROWS])
    return model.hidden_tree(make_pack(trees, range(len(trees.roots_R)), CPU))


def hidden_of_rows(model):
    ids_BT = torch.tensor([ROWS[0]])
    return model.hidden(ids_BT, torch.ones_like(ids_BT, dtype=torch.bool))


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("forward", [hidden_of_trees, hidden_of_rows])
@pytest.mark.parametrize("make", MODELS)
def test_training_calls_each_layer_once(make, forward, checkpointing):
    """A recomputation may call a layer again: the backward hooks ran before."""
    plain, (model, layers), log = make()[0], make(), []
    plain.checkpointing = model.checkpointing = checkpointing
    want = forward(plain)
    for index, layer in enumerate(layers):
        layer.register_forward_pre_hook(lambda layer, given, index=index: log.append(("before", index)))
        layer.register_forward_hook(lambda layer, given, out, index=index: log.append(("after", index)))
    got = forward(model)
    assert log == expected_calls(layers)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
    for out in (got, want):
        out.square().sum().backward()
    assert checkpointing or log == expected_calls(layers)
    for (name, actual), expected in zip(model.module.named_parameters(), plain.module.parameters()):
        assert (actual.grad is None) == (expected.grad is None), name
        if actual.grad is not None:
            torch.testing.assert_close(actual.grad, expected.grad, rtol=0, atol=1e-12)
