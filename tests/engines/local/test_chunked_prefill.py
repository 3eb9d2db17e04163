"""Prompts that are read in parts give the logits of one forward pass, at any division and with shared prefixes."""

import random

import pytest
import torch

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.measure_requests import bare_batch
from handaxe.models.huggingface import HuggingFaceModel
from handaxe.models.tiny import TinyConfig, TinyModel

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.hf
VOCABULARY = 19


def huggingface(length, dtype=torch.float64, window=None):
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1")
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    options = {**sizes, "num_key_value_heads": 1, "max_position_embeddings": length, "vocab_size": VOCABULARY}
    torch.manual_seed(0)
    if window is None:
        module = transformers.LlamaForCausalLM(transformers.LlamaConfig(**options))
    else:
        module = transformers.MistralForCausalLM(transformers.MistralConfig(**options, sliding_window=window))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(3)
    return HuggingFaceModel(module.to(dtype), tokenizer)


def tiny(length):
    config = TinyConfig(vocab_size=VOCABULARY, width=16, layers=2, heads=2, max_length=length)
    return TinyModel(TinyModel.new(config, seed=1).module.double(), pad_id=0)


def requests(count, length, tokens=3):
    """Requests with common prefixes of every kind: siblings, forks inside the last part, rows inside other rows."""
    rng = random.Random(0)
    trunk = rng.choices(range(2, VOCABULARY), k=length)
    prompts = [trunk, trunk, trunk[: length // 2], trunk[:-1] + [5, 6], rng.choices(range(2, VOCABULARY), k=5)]
    prompts += [trunk[: rng.randrange(1, length)] + rng.choices(range(2, VOCABULARY), k=7) for _ in range(count)]
    return [Sample(ids, Sampling(max_tokens=tokens), seed, frozenset()) for seed, ids in enumerate(prompts)]


def assert_same(found, wanted, tolerance):
    for one, other in zip(found, wanted, strict=True):
        assert one.ids == other.ids
        assert one.logp == pytest.approx(other.logp, abs=tolerance)


@pytest.mark.exact
@pytest.mark.parametrize("make", [huggingface, tiny])
@pytest.mark.parametrize("chunk", [1, 7, 64])
@pytest.mark.parametrize("max_rows", [2, 256])
def test_parts_equal_one_forward_pass(make, chunk, max_rows):
    asked = requests(6, 150)
    wanted = LocalEngine(make(200)).sample(asked)
    assert_same(LocalEngine(make(200), prefill_chunk=chunk, max_rows=max_rows).sample(asked), wanted, 1e-6)


def test_no_forward_pass_reads_more_than_a_part():
    model = huggingface(200)
    sizes = []
    model.module.model.layers[0].register_forward_pre_hook(lambda module, given: sizes.append(len(given[0])))
    engine = LocalEngine(model, prefill_chunk=20)
    engine.sample([Sample(list(range(2, 17)) * 10, Sampling(max_tokens=2), 0, frozenset())])
    sizes = sizes[-10:]
    assert max(sizes) == 20 and sum(sizes) >= 150


def test_part_of_zero_tokens_is_refused():
    with pytest.raises(InputError, match="prefill_chunk at least 1"):
        LocalEngine(tiny(20), prefill_chunk=0)


def row_batch(rows, masked) -> Batch:
    """Rows of equal length; the last `masked` tokens train."""
    ids_BT = torch.tensor(rows)
    mask_BT = torch.zeros_like(ids_BT, dtype=torch.bool)
    mask_BT[:, -masked:] = True
    return bare_batch(ids_BT, torch.ones_like(mask_BT), mask_BT, torch.ones(len(rows)))


def trained_logp(engine, request, completion):
    batch = row_batch([[*request.ids, *completion.ids]], len(completion.ids))
    return engine.forward(batch)["logp"][0, -len(completion.ids) :].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("window", [None, 1024])
def test_sampler_and_trainer_agree_at_32k_tokens(window):
    """Full attention takes the slot cache and trees, a sliding window the padded cache and rows."""
    rng = random.Random(1)
    request = Sample(rng.choices(range(2, VOCABULARY), k=32_000), Sampling(max_tokens=4), 0, frozenset())
    engine = LocalEngine(huggingface(32_768, torch.float32, window), packing="tree")
    (completion,) = engine.sample([request])
    assert completion.logp == pytest.approx(trained_logp(engine, request, completion), abs=2e-4)


@pytest.mark.slow
def test_packed_rows_of_32k_tokens_have_the_gradient_of_single_rows():
    """Two rows share 31,000 of 32,000 tokens: the tree holds 33,000 tokens instead of 64,000."""
    rng = random.Random(2)
    trunk = rng.choices(range(2, VOCABULARY), k=31_000)
    batch = row_batch([trunk + rng.choices(range(2, VOCABULARY), k=1000) for _ in range(2)], 1000)
    engine = LocalEngine(huggingface(32_768, torch.float32), gradient_checkpointing=True)
    packed = engine.forward(batch)["logp"]
    single = torch.cat([engine.forward(batch.rows(torch.tensor([k])))["logp"] for k in range(2)])
    assert torch.allclose(packed, single, atol=2e-4) and packed.abs().max() > 1
