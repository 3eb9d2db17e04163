"""Prompts that are read in parts give the logits of one forward pass, at any division and with shared prefixes."""

import random

import pytest
import torch
from helpers.image_records import noise

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.images import is_image_id, token_number
from handaxe.core.model_api import Copying, Reading
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.chunked_prefill import read_long_rows
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
@pytest.mark.parametrize(("length", "window"), [(32_000, None), (8_000, 1024)])
def test_sampler_and_trainer_agree_at_long_contexts(length, window):
    """Full attention takes the slot cache and trees, a sliding window the padded cache and rows."""
    rng = random.Random(1)
    request = Sample(rng.choices(range(2, VOCABULARY), k=length), Sampling(max_tokens=4), 0, frozenset())
    engine = LocalEngine(huggingface(length + 768, torch.float32, window), packing="tree")
    (completion,) = engine.sample([request])
    assert completion.logp == pytest.approx(trained_logp(engine, request, completion), abs=2e-4)


@pytest.mark.slow
def test_packed_rows_of_8k_tokens_have_the_log_probs_of_single_rows():
    """Two rows share 7,000 of 8,000 tokens: the tree holds 9,000 tokens instead of 16,000."""
    rng = random.Random(2)
    trunk = rng.choices(range(2, VOCABULARY), k=7_000)
    batch = row_batch([trunk + rng.choices(range(2, VOCABULARY), k=1000) for _ in range(2)], 1000)
    engine = LocalEngine(huggingface(8_192, torch.float32), gradient_checkpointing=True)
    packed = engine.forward(batch)["logp"]
    single = torch.cat([engine.forward(batch.rows(torch.tensor([k])))["logp"] for k in range(2)])
    assert torch.allclose(packed, single, atol=2e-4) and packed.abs().max() > 1


class Parts:
    """A cache that notes what it reads."""

    def __init__(self):
        self.read_rows = []

    def read(self, rows, copies):
        self.read_rows += rows

    def take(self, slot, start, stop):
        return []

    def put(self, slot, start, parts):
        pass


@pytest.mark.parametrize("chunk", range(1, 9))
@pytest.mark.parametrize("whole", [False, True])
def test_parts_carry_images_and_divide_none_that_is_read_whole(chunk, whole):  # trap 7
    images = (noise(0), noise(1))
    ids = [1, 2, *images[0].ids(4), *images[1].ids(3), 3, *images[0].ids(4), 4]
    for start in range(len(ids)):
        if whole and is_image_id(ids[start]) and token_number(ids[start]):
            continue
        cache = Parts()
        reading = Reading(0, ids, start, images)
        rest, _ = read_long_rows(cache, [0], [reading], [], chunk=chunk, whole_images=whole)
        parts = [*cache.read_rows, *rest]
        assert all(part.images == images for part in parts)
        assert [at for part in parts for at in range(part.start, len(part.ids))] == list(range(start, len(ids)))
        assert all(part.ids == ids[: len(part.ids)] for part in parts)
        longest = max(len(part.ids) - part.start for part in parts)
        assert longest <= (max(chunk, 4) if whole else chunk)
        inside = [part.start for part in parts if is_image_id(ids[part.start]) and token_number(ids[part.start])]
        assert not (whole and inside)


def test_copied_prefix_divides_no_image_that_is_read_whole():
    image = noise(0)
    ids = [1, *image.ids(4), 2, 3, 4, 5, 6, 7]
    cache = Parts()
    readings = [Reading(0, ids, 0, (image,)), Reading(1, [*ids[:5], 9, 8, 7, 6, 5], 5, (image,))]
    read_long_rows(cache, [0, 1], readings, [Copying(0, 1, 0, 5)], chunk=3, whole_images=True)
    assert all(not token_number(part.ids[part.start]) or part.ids[part.start] < 10 for part in cache.read_rows)
