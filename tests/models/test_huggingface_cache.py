"""Tests of the slot cache of transformers models, and of its support by model families."""

import pytest
import torch

from handaxe.core.model_api import Copying, Reading
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.continuous_batching import SlotStream
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.static_batching import RoundStream
from handaxe.models.huggingface import HuggingFaceModel, load_pretrained
from handaxe.models.huggingface_cache import HuggingFaceSlots, supports_slot_cache
from handaxe.models.llama_decoder import find_llama_decoder
from handaxe.models.load import load

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}


def small_module(family):
    torch.manual_seed(0)
    if family == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=41, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=1
        )
        return transformers.GPT2LMHeadModel(config).double()
    if family == "bloom":  # attention biases instead of positions
        return transformers.BloomForCausalLM(
            transformers.BloomConfig(vocab_size=41, hidden_size=16, n_layer=2, n_head=2)
        ).double()
    sizes = {"vocab_size": 41, "max_position_embeddings": 32, "num_key_value_heads": 1, **SIZES}
    if family == "mistral":  # sliding window attention
        return transformers.MistralForCausalLM(transformers.MistralConfig(sliding_window=4, **sizes)).double()
    if family == "qwen2":
        return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**sizes)).double()
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).double()


def make_tokenizer():
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(41)}, unk_token="w0"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1")


def make_model(family):
    return HuggingFaceModel(small_module(family), make_tokenizer())


def reference_logits(model, ids):
    """Compute the logits of a single row without a cache."""
    with torch.no_grad():
        return model.module(torch.tensor([ids])).logits[0]


@pytest.mark.parametrize("family", ["llama", "qwen2", "gpt2"])
@torch.inference_mode()
def test_read_write_and_step_return_the_logits_of_the_model(family):
    model, row, other = make_model(family), [5, 6, 7, 8, 9, 10, 11], [5, 6, 12]
    cache = model.slots()
    assert isinstance(cache, HuggingFaceSlots) and (model.decoder() is None) == (family == "gpt2")
    cache.reserve(2, 4)
    read_RV = cache.read([Reading(0, row[:4], 0), Reading(1, [3], 0)], [])
    torch.testing.assert_close(read_RV[0], reference_logits(model, row[:4])[-1], rtol=0, atol=1e-12)
    torch.testing.assert_close(read_RV[1], reference_logits(model, [3])[-1], rtol=0, atol=1e-12)
    cache.reserve(4, 31)
    cache.put(3, 0, cache.take(0, 0, 4))
    read_RV = cache.read([Reading(3, row, 4), Reading(2, other, 2)], [Copying(3, 2, 0, 2)])
    torch.testing.assert_close(read_RV[0], reference_logits(model, row)[-1], rtol=0, atol=1e-12)
    torch.testing.assert_close(read_RV[1], reference_logits(model, other)[-1], rtol=0, atol=1e-12)
    logits_SV = cache.write([[20], [0], [21], [22]], [8, -1, 12, 11], [4, -1, 3, 7])
    for slot, ids in {0: [*row[:4], 20], 2: [*other, 21], 3: [*row, 22]}.items():
        torch.testing.assert_close(logits_SV[slot], reference_logits(model, ids)[-1], rtol=0, atol=1e-12)
    written_SV, read_RV = cache.step([[0], [30]], [0, 3], [-1, 1], [Reading(0, row, 4), Reading(2, other, 1)], [])
    for logits_V, ids in zip((written_SV[1], *read_RV), ([3, 30], row, other), strict=True):
        torch.testing.assert_close(logits_V, reference_logits(model, ids)[-1], rtol=0, atol=1e-12)
    assert cache.step([[0], [31]], [0, 30], [-1, 2], [], [])[1] is None
    assert cache.step([], [], [], [], []) == (None, None)
    assert cache.step([], [], [], [Reading(0, row, 6)], [])[0] is None
    assert cache.token_bytes == sum(part.numel() for part in cache.take(0, 0, 1)) * 8


@pytest.mark.parametrize("family", ["llama", "qwen2"])
@torch.inference_mode()
def test_write_decodes_several_tokens_of_a_slot(family):
    model, row, other, prompt = make_model(family), [5, 6, 7, 8], [9, 10], [4, 3, 2]
    cache = model.slots()
    assert cache.several and not make_model("gpt2").slots().several
    cache.reserve(4, 8)
    cache.read([Reading(0, row, 0), Reading(2, other, 0)], [])
    ids = [[20, 21, 22], [0], [23]]
    written_NV, read_RV = cache.step(ids, [8, -1, 10], [4, -1, 2], [Reading(3, prompt, 0)], [])
    torch.testing.assert_close(written_NV[:3], reference_logits(model, [*row, 20, 21, 22])[4:], rtol=0, atol=1e-12)
    torch.testing.assert_close(written_NV[4], reference_logits(model, [*other, 23])[-1], rtol=0, atol=1e-12)
    torch.testing.assert_close(read_RV[0], reference_logits(model, prompt)[-1], rtol=0, atol=1e-12)
    # The second and third token were rejected drafts: the next tokens overwrite them.
    written_NV = cache.write([[30, 31], [0], [24, 25]], [20, -1, 23], [5, -1, 3])
    torch.testing.assert_close(written_NV[:2], reference_logits(model, [*row, 20, 30, 31])[5:], rtol=0, atol=1e-12)
    torch.testing.assert_close(written_NV[3:], reference_logits(model, [*other, 23, 24, 25])[3:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", ["mistral", "bloom"])
def test_models_without_slot_support_use_static_batching(family):
    engine = LocalEngine(make_model(family))
    assert isinstance(engine.stream(), RoundStream)
    requests = [Sample([5, 6, 7], Sampling(max_tokens=6), seed, frozenset()) for seed in range(3)]
    assert all(len(completion.ids) == 6 for completion in engine.sample(requests))


def test_supports_slot_cache_is_false_for_differing_logits():
    model = make_model("llama")
    assert supports_slot_cache(model, 32, 1e-10)
    hidden_cached = model.hidden_cached
    model.hidden_cached = lambda ids, position, attend, cache: hidden_cached(ids, position * 0, attend, cache)
    assert not supports_slot_cache(model, 32, 1e-10)


def test_stream_of_an_adapted_model_returns_the_log_probs_of_the_model(tmp_path):
    make_model("llama").save(tmp_path)
    model = load_pretrained(tmp_path, lora={"r": 2, "init_lora_weights": False}, dtype="float64")
    engine = LocalEngine(model)
    stream = engine.stream()
    assert isinstance(stream, SlotStream)
    stream.submit(Sample([5, 6, 7], Sampling(max_tokens=5), 0, frozenset()))
    completions = {}
    while len(stream):
        completions.update(stream.poll())
    ids = [5, 6, 7, *completions[0].ids]
    logp_TV = reference_logits(model, ids).log_softmax(-1)
    assert completions[0].logp == pytest.approx([logp_TV[t - 1, ids[t]].item() for t in range(3, 8)], abs=1e-10)


@pytest.mark.slow
def test_smollm2_stream_caches_prefixes_over_three_turns():
    model = load("smollm2").model
    stream = LocalEngine(model).stream()
    assert isinstance(stream, SlotStream)
    rows = [[1, 2683, 198, 57, 288], [1, 2683, 198, 90]]
    for turn in range(3):
        tickets = [
            stream.submit(Sample(ids, Sampling(max_tokens=4), 10 * turn + k, frozenset())) for k, ids in enumerate(rows)
        ]
        completions = {}
        while len(stream):
            completions.update(stream.poll())
        for k, ticket in enumerate(tickets):
            ids = [*rows[k], *completions[ticket].ids]
            logp_TV = reference_logits(model, ids).log_softmax(-1)
            expected = [logp_TV[t - 1, ids[t]].item() for t in range(len(rows[k]), len(ids))]
            assert completions[ticket].logp == pytest.approx(expected, abs=1e-4)
            rows[k] = [*ids, 198, 40 + k]
    # Distinct tokens of the prompts, then for each turn and row the last sampled id and two new ids.
    assert stream.read_tokens == 6 + 2 * 2 * 3


@torch.inference_mode()
def test_layers_with_changed_attributes_are_not_called_directly():
    model = make_model("llama")
    for layer in model.module.model.layers:
        layer.self_attn.scaling = 5.0
    decoder = find_llama_decoder(model.module)
    assert not supports_slot_cache(model, 32, 1e-6, decoder) and supports_slot_cache(model, 32, 1e-6)
    cache = model.slots()
    cache.reserve(1, 8)
    read_RV = cache.read([Reading(0, [5, 6, 7, 8], 0)], [])
    torch.testing.assert_close(read_RV[0], reference_logits(model, [5, 6, 7, 8])[-1], rtol=0, atol=1e-12)
