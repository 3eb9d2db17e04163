"""Tests of hidden states of rows and trees, and of nonlinear heads, for transformers models."""

import numpy as np
import pytest
import torch

from handaxe.core.model_api import LinearHeadModel, RecomputingModel, TreeModel
from handaxe.models.trunk import Trunk, to_float32
from handaxe.ops.token_trees import build_forest, make_pack

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
SIZES |= {"vocab_size": 41, "max_position_embeddings": 32}
ROWS = [[1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2], [7, 8], [7, 8], [7, 9, 4]]


def make(family):
    torch.manual_seed(0)
    if family == "gpt2":
        sizes = {"vocab_size": 41, "n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2}
        module = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes))
    elif family == "bloom":  # no position argument
        module = transformers.BloomForCausalLM(transformers.BloomConfig(vocab_size=41, hidden_size=16, n_head=2))
    elif family == "mistral":  # sliding window attention
        config = transformers.MistralConfig(**SIZES, num_key_value_heads=1, sliding_window=4)
        module = transformers.MistralForCausalLM(config)
    elif family == "gemma2":  # sliding window attention and capped logits
        config = transformers.Gemma2Config(**SIZES, num_key_value_heads=1, head_dim=8, final_logit_softcapping=5.0)
        module = transformers.Gemma2ForCausalLM(config)
    elif family == "cohere":  # scaled logits
        config = transformers.CohereConfig(**SIZES, logit_scale=0.3, pad_token_id=0, bos_token_id=1, eos_token_id=2)
        module = transformers.CohereForCausalLM(config)
    else:
        module = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, num_key_value_heads=1))
    with torch.no_grad():
        for parameter in module.parameters():  # makes the effects of attention and positions visible
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return Trunk(module.double().eval())


def hidden_of_rows(trunk):
    return torch.cat([trunk.hidden(torch.tensor([row]), None)[0] for row in ROWS])


def hidden_of_trees(trunk):
    trees = build_forest([np.array(row) for row in ROWS])
    hidden_ND = trunk.hidden_tree(make_pack(trees, [1, 0], torch.device("cpu")))
    offsets = {0: len(trees.ids_N) - int(trees.roots_R[1]), 1: -int(trees.roots_R[1])}
    nodes = [
        n + offsets[int(n >= trees.roots_R[1])] for row, node in zip(ROWS, trees.node_BT) for n in node[: len(row)]
    ]
    return hidden_ND[torch.tensor(nodes)]


@pytest.mark.parametrize("family, tolerance", [("llama", 1e-6), ("gpt2", 1e-12), ("cohere", 1e-6)])
def test_trees_have_the_hidden_states_of_rows(family, tolerance):
    trunk = make(family)
    assert trunk.reads_trees()
    assert isinstance(trunk, TreeModel) and isinstance(trunk, LinearHeadModel) and isinstance(trunk, RecomputingModel)
    assert torch.allclose(hidden_of_trees(trunk), hidden_of_rows(trunk), atol=tolerance)


@pytest.mark.parametrize("family", ["bloom", "mistral", "gemma2"])
def test_reads_trees_is_false_for_unsupported_models(family):
    assert not make(family).reads_trees()


def test_reads_trees_is_false_for_ignored_masks_and_positions():
    class WithoutMask(Trunk):
        def _trunk(self, ids_BT, options):
            return super()._trunk(ids_BT, {name: x for name, x in options.items() if name != "attention_mask"})

    class WithoutPositions(Trunk):
        def _options(self, position_BT, **rest):
            return super()._options(torch.arange(position_BT.shape[1])[None], **rest)

    module = make("gpt2").module  # no direct layer calls, so the probe uses the mask
    assert Trunk(module).reads_trees()
    assert not WithoutMask(module).reads_trees() and not WithoutPositions(module).reads_trees()


@pytest.mark.parametrize("family, linear", [("llama", True), ("gpt2", True), ("gemma2", False), ("cohere", False)])
def test_head_equals_the_logits_of_the_module(family, linear):
    trunk, ids_BT = make(family), torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    want_BTV = trunk.module(ids_BT).logits
    hidden_BTD = trunk.hidden(ids_BT, None)
    assert (trunk.linear_head() is not None) == linear
    for got, want in ((trunk.head(hidden_BTD), want_BTV), (trunk.head(hidden_BTD[1, 2]), want_BTV[1, 2])):
        assert torch.allclose(got.reshape(want.shape), want, atol=1e-12)
    weights_BTV = torch.randn_like(want_BTV)
    parameters = [p for p in trunk.module.parameters() if p.requires_grad]
    gradients = [
        torch.autograd.grad((x * weights_BTV).sum(), parameters) for x in (trunk.head(hidden_BTD), want_BTV)
    ]  # fmt: skip
    assert all(torch.allclose(a, b, atol=1e-10) for a, b in zip(*gradients))


def test_checkpointing_gives_equal_gradients_in_eval_mode():
    gradients = []
    for checkpointing in (False, True):
        trunk = make("gpt2")
        trunk.checkpointing, calls = checkpointing, []
        trunk.module.transformer.h[0].mlp.register_forward_pre_hook(lambda *given: calls.append(1))
        hidden_of_trees(trunk).square().sum().backward()
        gradients.append([p.grad for p in trunk.module.transformer.parameters()])
        assert len(calls) == 1 + checkpointing and not trunk.module.training
    assert all(torch.equal(a, b) for a, b in zip(*gradients))


def test_to_float32_casts_only_half_precision():
    assert to_float32(torch.zeros(1, dtype=torch.bfloat16)).dtype == torch.float32
    assert to_float32(torch.zeros(1, dtype=torch.float64)).dtype == torch.float64
