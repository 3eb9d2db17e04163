"""Tests that direct calls of Llama-like decoder layers equal the forward of transformers."""

import pytest
import torch
from torch.nn import functional as F

from handaxe.models.llama_decoder import find_llama_decoder

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
SIZES = {
    "vocab_size": 41,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}
IDS = torch.tensor([5, 6, 7, 8, 5, 9])


def make(family, **options):
    torch.manual_seed(0)
    module = getattr(transformers, f"{family}ForCausalLM")(getattr(transformers, f"{family}Config")(**SIZES, **options))
    with torch.no_grad():
        for name, parameter in module.named_parameters():  # gains other than 1, biases other than 0
            parameter.add_(0.3 * torch.randn_like(parameter)) if parameter.ndim < 2 else parameter.mul_(5)
    return module.double().eval()


def causal_attention(index, q_NHK, k_NGK, v_NGK):
    q, k, v = (x.transpose(0, 1)[None] for x in (q_NHK, k_NGK, v_NGK))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0].transpose(0, 1)


def hidden_directly(module, **options):
    return find_llama_decoder(module).hidden(IDS, torch.arange(len(IDS)), causal_attention, **options)


@pytest.mark.parametrize(
    ("family", "options"), [("Llama", {"attention_bias": True}), ("Qwen2", {}), ("Mistral", {"sliding_window": None})]
)
def test_hidden_states_equal_transformers(family, options):
    module = make(family, **options)
    with torch.no_grad():
        torch.testing.assert_close(
            hidden_directly(module), module.model(IDS[None]).last_hidden_state[0], rtol=0, atol=1e-12
        )
        module.float()
        torch.testing.assert_close(
            hidden_directly(module), module.model(IDS[None]).last_hidden_state[0], rtol=1e-4, atol=1e-5
        )


def test_decoder_uses_positions_and_current_parameter_values():
    module = make("Llama", rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0})
    position_N, decoder = torch.tensor([0, 1, 2, 7, 8, 20]), find_llama_decoder(module)
    with torch.no_grad():
        for _ in range(2):
            want_ND = module.model(IDS[None], position_ids=position_N[None]).last_hidden_state[0]
            torch.testing.assert_close(decoder.hidden(IDS, position_N, causal_attention), want_ND, rtol=0, atol=1e-12)
            for parameter in module.parameters():
                parameter.mul_(1.1)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_gradient_equals_transformers(checkpointing):
    module = make("Qwen2")
    module.model(IDS[None]).last_hidden_state.square().sum().backward()
    want = {name: parameter.grad for name, parameter in module.named_parameters()}
    module.zero_grad(set_to_none=True)
    hidden_directly(module, checkpointing=checkpointing).square().sum().backward()
    assert {name for name, grad in want.items() if grad is not None} >= {"model.layers.1.mlp.down_proj.weight"}
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.grad, want[name])


def test_decoder_includes_an_adapter():
    peft = pytest.importorskip("peft")
    module = make("Llama")
    plain_ND = hidden_directly(module).detach()
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    adapted = peft.get_peft_model(module, config).double().eval()
    with torch.no_grad():
        want_ND = adapted.get_base_model().model(IDS[None]).last_hidden_state[0]
        torch.testing.assert_close(hidden_directly(adapted.get_base_model()), want_ND, rtol=0, atol=1e-12)
        with adapted.disable_adapter():
            torch.testing.assert_close(hidden_directly(adapted.get_base_model()), plain_ND, rtol=0, atol=1e-12)
    assert (want_ND - plain_ND).abs().max() > 0.01


def test_find_llama_decoder_returns_none_for_unsupported_layers():
    small = {"vocab_size": 41, "n_embd": 16, "n_layer": 1, "n_head": 2, "bos_token_id": 1, "eos_token_id": 1}
    assert find_llama_decoder(transformers.GPT2LMHeadModel(transformers.GPT2Config(**small))) is None
    assert find_llama_decoder(make("Qwen3", head_dim=4)) is None  # has norms of queries and keys

    class Changed(transformers.models.llama.modeling_llama.LlamaDecoderLayer):
        """A custom layer class."""

    module = make("Llama")
    module.model.layers[1].__class__ = Changed
    assert find_llama_decoder(module) is None
