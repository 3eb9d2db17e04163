"""The forecast counts the tensors that torch keeps for the backward pass, and the weights that a model has."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.doctor.fits import SHAPES
from handaxe.doctor.memory import (
    GIB,
    MemoryPlan,
    ModelShape,
    engine_plan,
    engine_shape,
    forecast_memory,
    layer_bytes,
)
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.token_trees import build_forest, make_pack

transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")
pytestmark = pytest.mark.hf
TOKENS = 96


def tokenizer():
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(50)}, unk_token="w0"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1")


def llama(*, layers=2, dtype=torch.float32, rank=0):
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=64, intermediate_size=80, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=2, head_dim=24, max_position_embeddings=256, tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(0)
    module = transformers.LlamaForCausalLM(config).to(dtype)
    if not rank:
        return HuggingFaceModel(module, tokenizer())
    adapter = peft.LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM")
    return AdaptedModel(peft.get_peft_model(module, adapter), tokenizer())


def kept_bytes(model):
    """Bytes of the distinct tensors that a forward pass of one row keeps, without weights."""
    model.reads_trees()
    weights = {p.untyped_storage().data_ptr() for p in model.module.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    forest = build_forest([np.arange(TOKENS) % 50])
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        hidden = model.hidden_tree(make_pack(forest, [0], torch.device("cpu")))
    assert hidden.requires_grad
    return sum(kept.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rank", [0, 4])
def test_activations_of_a_layer_are_those_that_torch_keeps(dtype, rank):
    few, many = (kept_bytes(llama(layers=layers, dtype=dtype, rank=rank)) for layers in (2, 5))
    engine = LocalEngine(llama(dtype=dtype, rank=rank))
    plan = engine_plan(engine, tokens=TOKENS, rows=1, sampled_rows=1, reference=False)
    assert (many - few) / 3 / TOKENS == pytest.approx(layer_bytes(engine_shape(engine), plan), rel=0.01)


def test_mask_is_kept_once_for_all_layers():
    """Each layer keeps tensors in proportion to the tokens alone."""
    model = llama(layers=4)
    assert kept_bytes(model) < 4.5 * layer_bytes(engine_shape(LocalEngine(model)), MemoryPlan("float32")) * TOKENS


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rank", [0, 4])
def test_weights_and_optimizer_are_those_of_an_engine(dtype, rank):
    from handaxe.testing.engine_case import example_batch, example_loss

    engine = LocalEngine(llama(dtype=dtype, rank=rank))
    engine.forward_backward(example_batch(engine.model), example_loss)
    gradients = sum(p.grad.nbytes for p in engine._optimized.values() if p.grad is not None)
    engine.optim_step(learning_rate=1e-3)
    moments = sum(t.nbytes for state in engine._optimizer.state.values() for t in state.values() if t.ndim)
    masters = sum(p.nbytes for name, p in engine._optimized.items() if p is not engine._trained[name])
    weights = sum(p.nbytes for p in engine.model.module.parameters())
    plan = engine_plan(engine, tokens=8, rows=1, sampled_rows=1, reference=False)
    found = forecast_memory(engine_shape(engine), plan)
    assert found.weights == pytest.approx(weights, rel=0.02)
    assert found.optimizer == pytest.approx(gradients + moments + masters, rel=0.02)


def test_checkpointing_longer_rows_and_a_reference_change_the_forecast():
    shape, plan = SHAPES[0], MemoryPlan("float32", tokens=4096)
    found = forecast_memory(shape, plan)
    assert forecast_memory(shape, replace(plan, checkpointing=True)).activations < 0.3 * found.activations
    assert forecast_memory(shape, replace(plan, rows=2)).activations > 1.8 * found.activations - 2**28
    assert forecast_memory(shape, replace(plan, reference=True)).weights == 2 * found.weights
    lora = replace(plan, lora=4)
    on_cpu, on_gpu = (forecast_memory(shape, replace(lora, quantize=q)) for q in ("8bit on the CPU", "8bit"))
    assert on_cpu.weights == on_gpu.weights and on_cpu.activations - on_gpu.activations == 4 * shape.linear
    assert forecast_memory(shape, replace(plan, prefix_cache=0, sampled_rows=0)).cache == 0


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({}, 0.14),
        ({"lora": 16}, 0.72),
        ({"dtype": "bfloat16"}, 0.28),
        ({"dtype": "bfloat16", "lora": 16}, 0.34),
        ({"lora": 16, "checkpointing": True}, 2.1),
    ],
)
def test_retained_memory_of_the_c_library_is_a_share_of_the_activations(changes, share):
    plan = replace(MemoryPlan("float32", tokens=1024, sampled_rows=0, prefix_cache=0), **changes)
    live, heap = (forecast_memory(SHAPES[0], replace(plan, heap=heap)) for heap in (False, True))
    assert live.retained == 0 and heap[:4] == live[:4]
    assert heap.peak - live.peak == pytest.approx(share * live.activations, rel=1e-6)


def test_retained_memory_is_forecast_on_a_cpu_without_a_fixed_mmap_threshold(monkeypatch):
    engine = LocalEngine(llama(rank=4))
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    sizes = {"tokens": 8, "rows": 1, "sampled_rows": 1, "reference": False}
    assert engine_plan(engine, **sizes).heap
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "131072")
    assert not engine_plan(engine, **sizes).heap


# GiB of docs/memory.md, SmolLM2-135M in float32 with one row, by `python -m bench.memory`.
@pytest.mark.parametrize(
    ("tokens", "lora", "checkpointing", "measured"),
    [(1024, 16, False, 2.95), (4096, 16, False, 9.98), (4096, 0, False, 8.72), (4096, 0, True, 4.39)],
)
def test_forecast_is_within_a_twentieth_of_the_measured_peak(tokens, lora, checkpointing, measured):
    plan = MemoryPlan("float32", lora=lora, tokens=tokens, checkpointing=checkpointing, heap=True)
    found = forecast_memory(SHAPES[0], plan)._replace(cache=0.0)
    assert found.peak / GIB == pytest.approx(measured, rel=0.05)


def test_known_models_have_their_published_number_of_weights():
    sizes = [(shape.linear + shape.embeddings) / 1e9 for shape in SHAPES]
    assert sizes == pytest.approx([0.1345, 0.494, 1.543, 3.085, 8.03], rel=0.01)


def test_other_models_have_no_forecast():
    assert engine_shape(LocalEngine(TinyModel.new(TinyConfig(width=8, layers=1, heads=1)))) is None
    assert engine_shape(object()) is None
    assert isinstance(engine_shape(LocalEngine(llama())), ModelShape)
