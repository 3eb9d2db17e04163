"""The slot cache of transformers models, and which models can do with it."""

import pytest
import torch

from handaxe.core.model_api import Copying, Reading
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.rounds import RoundStream
from handaxe.engines.local.stream import SlotStream
from handaxe.models.decoder import find_decoder
from handaxe.models.huggingface import HuggingFaceModel, load_pretrained
from handaxe.models.huggingface_cache import PretrainedSlots, fits
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
    if family == "bloom":  # biases by distance, no positions
        return transformers.BloomForCausalLM(
            transformers.BloomConfig(vocab_size=41, hidden_size=16, n_layer=2, n_head=2)
        ).double()
    sizes = {"vocab_size": 41, "max_position_embeddings": 32, "num_key_value_heads": 1, **SIZES}
    if family == "mistral":  # attention within a window
        return transformers.MistralForCausalLM(transformers.MistralConfig(sliding_window=4, **sizes)).double()
    if family == "qwen2":
        return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**sizes)).double()
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).double()


def tokenizer():
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(41)}, unk_token="w0"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1")


def model(family):
    return HuggingFaceModel(small_module(family), tokenizer())


def whole(made, ids):
    """The oracle: one row alone, no cache."""
    with torch.no_grad():
        return made.module(torch.tensor([ids])).logits[0]


@pytest.mark.parametrize("family", ["llama", "qwen2", "gpt2"])
@torch.inference_mode()
def test_reading_and_writing_say_what_the_model_says(family):
    made, row, other = model(family), [5, 6, 7, 8, 9, 10, 11], [5, 6, 12]
    cache = made.slots()
    assert isinstance(cache, PretrainedSlots) and (made.decoder() is None) == (family == "gpt2")
    cache.reserve(2, 4)
    read_RV = cache.read([Reading(0, row[:4], 0), Reading(1, [3], 0)], [])
    torch.testing.assert_close(read_RV[0], whole(made, row[:4])[-1], rtol=0, atol=1e-12)
    torch.testing.assert_close(read_RV[1], whole(made, [3])[-1], rtol=0, atol=1e-12)
    cache.reserve(4, 31)
    cache.put(3, 0, cache.take(0, 0, 4))
    read_RV = cache.read([Reading(3, row, 4), Reading(2, other, 2)], [Copying(3, 2, 0, 2)])
    torch.testing.assert_close(read_RV[0], whole(made, row)[-1], rtol=0, atol=1e-12)
    torch.testing.assert_close(read_RV[1], whole(made, other)[-1], rtol=0, atol=1e-12)
    logits_SV = cache.write([[20], [0], [21], [22]], [8, -1, 12, 11], [4, -1, 3, 7])
    for slot, ids in {0: [*row[:4], 20], 2: [*other, 21], 3: [*row, 22]}.items():
        torch.testing.assert_close(logits_SV[slot], whole(made, ids)[-1], rtol=0, atol=1e-12)
    written_SV, read_RV = cache.step([[0], [30]], [0, 3], [-1, 1], [Reading(0, row, 4), Reading(2, other, 1)], [])
    for logits_V, ids in zip((written_SV[1], *read_RV), ([3, 30], row, other), strict=True):
        torch.testing.assert_close(logits_V, whole(made, ids)[-1], rtol=0, atol=1e-12)
    assert cache.step([[0], [31]], [0, 30], [-1, 2], [], [])[1] is None
    assert cache.step([], [], [], [], []) == (None, None)
    assert cache.step([], [], [], [Reading(0, row, 6)], [])[0] is None
    assert cache.token_bytes == sum(part.numel() for part in cache.take(0, 0, 1)) * 8


@pytest.mark.parametrize("family", ["llama", "qwen2"])
@torch.inference_mode()
def test_several_tokens_of_a_slot_in_one_forward(family):
    made, row, other, read = model(family), [5, 6, 7, 8], [9, 10], [4, 3, 2]
    cache = made.slots()
    assert cache.several and not model("gpt2").slots().several
    cache.reserve(4, 8)
    cache.read([Reading(0, row, 0), Reading(2, other, 0)], [])
    ids = [[20, 21, 22], [0], [23]]
    written_NV, read_RV = cache.step(ids, [8, -1, 10], [4, -1, 2], [Reading(3, read, 0)], [])
    torch.testing.assert_close(written_NV[:3], whole(made, [*row, 20, 21, 22])[4:], rtol=0, atol=1e-12)
    torch.testing.assert_close(written_NV[4], whole(made, [*other, 23])[-1], rtol=0, atol=1e-12)
    torch.testing.assert_close(read_RV[0], whole(made, read)[-1], rtol=0, atol=1e-12)
    # The second and third were wrong: what comes next goes over them.
    written_NV = cache.write([[30, 31], [0], [24, 25]], [20, -1, 23], [5, -1, 3])
    torch.testing.assert_close(written_NV[:2], whole(made, [*row, 20, 30, 31])[5:], rtol=0, atol=1e-12)
    torch.testing.assert_close(written_NV[3:], whole(made, [*other, 23, 24, 25])[3:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", ["mistral", "bloom"])
def test_models_that_cannot_are_sampled_in_rounds(family):
    engine = LocalEngine(model(family))
    assert isinstance(engine.stream(), RoundStream)
    asked = [Sample([5, 6, 7], Sampling(max_tokens=6), seed, frozenset()) for seed in range(3)]
    assert all(len(done.ids) == 6 for done in engine.sample(asked))


def test_a_wrong_answer_through_the_cache_is_noticed():
    made = model("llama")
    assert fits(made, 32, 1e-10)
    right = made.hidden_cached
    made.hidden_cached = lambda ids, position, attend, cache: right(ids, position * 0, attend, cache)
    assert not fits(made, 32, 1e-10)


def test_with_an_adapter(tmp_path):
    model("llama").save(tmp_path)
    made = load_pretrained(tmp_path, lora={"r": 2, "init_lora_weights": False}, dtype="float64")
    engine = LocalEngine(made)
    stream = engine.stream()
    assert isinstance(stream, SlotStream)
    stream.submit(Sample([5, 6, 7], Sampling(max_tokens=5), 0, frozenset()))
    done = {}
    while len(stream):
        done.update(stream.poll())
    ids = [5, 6, 7, *done[0].ids]
    want = whole(made, ids).log_softmax(-1)
    assert done[0].logp == pytest.approx([want[t - 1, ids[t]].item() for t in range(3, 8)], abs=1e-10)


@pytest.mark.slow
def test_the_real_model_over_three_turns():
    made = load("smollm2").model
    stream = LocalEngine(made).stream()
    assert isinstance(stream, SlotStream)
    rows = [[1, 2683, 198, 57, 288], [1, 2683, 198, 90]]
    for turn in range(3):
        tickets = [
            stream.submit(Sample(ids, Sampling(max_tokens=4), 10 * turn + k, frozenset())) for k, ids in enumerate(rows)
        ]
        done = {}
        while len(stream):
            done.update(stream.poll())
        for k, ticket in enumerate(tickets):
            ids = [*rows[k], *done[ticket].ids]
            want = whole(made, ids).log_softmax(-1)
            oracle = [want[t - 1, ids[t]].item() for t in range(len(rows[k]), len(ids))]
            assert done[ticket].logp == pytest.approx(oracle, abs=1e-4)
            rows[k] = [*ids, 198, 40 + k]
    # Distinct tokens of the prompts, then for each turn and row its last sampled id and two new ones.
    assert stream.read_tokens == 6 + 2 * 2 * 3


@torch.inference_mode()
def test_layers_that_are_not_what_their_class_says_are_left_to_transformers():
    made = model("llama")
    for layer in made.module.model.layers:
        layer.self_attn.scaling = 5.0
    found = find_decoder(made.module)
    assert not fits(made, 32, 1e-6, found) and fits(made, 32, 1e-6)
    cache = made.slots()
    cache.reserve(1, 8)
    read_RV = cache.read([Reading(0, [5, 6, 7, 8], 0)], [])
    torch.testing.assert_close(read_RV[0], whole(made, [5, 6, 7, 8])[-1], rtol=0, atol=1e-12)
