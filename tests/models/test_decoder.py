"""The layers of Llama-like models called directly say what transformers says of them."""

import pytest
import torch
from torch.nn import functional as F

from handaxe.models.decoder import find_decoder

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
        for name, parameter in module.named_parameters():  # gains and biases that are not 1 and 0
            parameter.add_(0.3 * torch.randn_like(parameter)) if parameter.ndim < 2 else parameter.mul_(5)
    return module.double().eval()


def causal(index, q_NHK, k_NGK, v_NGK):
    q, k, v = (x.transpose(0, 1)[None] for x in (q_NHK, k_NGK, v_NGK))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0].transpose(0, 1)


def direct(module, **options):
    return find_decoder(module).hidden(IDS, torch.arange(len(IDS)), causal, **options)


@pytest.mark.parametrize(
    ("family", "options"), [("Llama", {"attention_bias": True}), ("Qwen2", {}), ("Mistral", {"sliding_window": None})]
)
def test_hidden_states_are_those_of_transformers(family, options):
    module = make(family, **options)
    with torch.no_grad():
        torch.testing.assert_close(direct(module), module.model(IDS[None]).last_hidden_state[0], rtol=0, atol=1e-12)
        module.float()
        torch.testing.assert_close(direct(module), module.model(IDS[None]).last_hidden_state[0], rtol=1e-4, atol=1e-5)


def test_positions_count_and_new_values_of_parameters_are_seen():
    module = make("Llama", rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0})
    position_N, decoder = torch.tensor([0, 1, 2, 7, 8, 20]), find_decoder(module)
    with torch.no_grad():
        for _ in range(2):
            want_ND = module.model(IDS[None], position_ids=position_N[None]).last_hidden_state[0]
            torch.testing.assert_close(decoder.hidden(IDS, position_N, causal), want_ND, rtol=0, atol=1e-12)
            for parameter in module.parameters():
                parameter.mul_(1.1)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_the_gradient_is_that_of_transformers(checkpointing):
    module = make("Qwen2")
    module.model(IDS[None]).last_hidden_state.square().sum().backward()
    want = {name: parameter.grad for name, parameter in module.named_parameters()}
    module.zero_grad(set_to_none=True)
    direct(module, checkpointing=checkpointing).square().sum().backward()
    assert {name for name, grad in want.items() if grad is not None} >= {"model.layers.1.mlp.down_proj.weight"}
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.grad, want[name])


def test_an_adapter_is_computed():
    peft = pytest.importorskip("peft")
    module = make("Llama")
    plain_ND = direct(module).detach()
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    adapted = peft.get_peft_model(module, config).double().eval()
    with torch.no_grad():
        want_ND = adapted.get_base_model().model(IDS[None]).last_hidden_state[0]
        torch.testing.assert_close(direct(adapted.get_base_model()), want_ND, rtol=0, atol=1e-12)
        with adapted.disable_adapter():
            torch.testing.assert_close(direct(adapted.get_base_model()), plain_ND, rtol=0, atol=1e-12)
    assert (want_ND - plain_ND).abs().max() > 0.01


def test_other_layers_are_left_to_transformers():
    small = {"vocab_size": 41, "n_embd": 16, "n_layer": 1, "n_head": 2, "bos_token_id": 1, "eos_token_id": 1}
    assert find_decoder(transformers.GPT2LMHeadModel(transformers.GPT2Config(**small))) is None
    assert find_decoder(make("Qwen3", head_dim=4)) is None  # norms queries and keys, too

    class Changed(transformers.models.llama.modeling_llama.LlamaDecoderLayer):
        """Somebody's own."""

    module = make("Llama")
    module.model.layers[1].__class__ = Changed
    assert find_decoder(module) is None
