"""Long left-padded prompts, read in parts, give the logits of one forward pass, also with a sliding window."""

import pytest
import torch

from handaxe.models import padded_sampling

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.hf
SIZES = {
    "vocab_size": 19,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 400,
}


class Padded(padded_sampling.PaddedSampling):
    pad_id = 0


def mistral():
    return transformers.MistralForCausalLM(transformers.MistralConfig(**SIZES, sliding_window=32))


def gemma3():
    layers = ["sliding_attention", "full_attention"]
    config = transformers.Gemma3TextConfig(**SIZES, head_dim=8, sliding_window=16, layer_types=layers)
    return transformers.Gemma3ForCausalLM(config)


def gpt2():
    config = transformers.GPT2Config(vocab_size=19, n_embd=16, n_layer=2, n_head=2, n_positions=400)
    return transformers.GPT2LMHeadModel(config)


@pytest.mark.exact
@pytest.mark.parametrize("make", [mistral, gemma3, gpt2])
@pytest.mark.parametrize("chunk", [1, 13, 100])
def test_parts_equal_one_forward_pass(make, chunk, monkeypatch):
    torch.manual_seed(0)
    model = Padded(make().double().eval())
    rows = [torch.randint(19, (length,)).tolist() for length in (100, 37, 101, 1)]
    with torch.no_grad():
        wanted, cache = model.prefill(rows, 0)
        wanted_next, _ = model.decode(torch.tensor([3, 4, 5, 6]), cache)
        monkeypatch.setattr(padded_sampling, "PREFILL_CHUNK", chunk)
        found, cache = model.prefill(rows, 0)
        found_next, _ = model.decode(torch.tensor([3, 4, 5, 6]), cache)
    assert torch.allclose(found, wanted, atol=1e-6) and torch.allclose(found_next, wanted_next, atol=1e-6)


def test_window_matters_at_this_length():
    """A window of 32 forgets the first token of a row of 100."""
    torch.manual_seed(0)
    config = transformers.MistralConfig(**{**SIZES, "num_hidden_layers": 1}, sliding_window=32)
    model = Padded(transformers.MistralForCausalLM(config).double().eval())
    row = torch.randint(1, 19, (100,)).tolist()
    with torch.no_grad():
        one, other = model.prefill([row], 0)[0], model.prefill([[0, *row[1:]]], 0)[0]
        near = model.prefill([[*row[:-2], 0, row[-1]]], 0)[0]
    assert torch.allclose(one, other, atol=1e-12) and not torch.allclose(one, near, atol=1e-9)
