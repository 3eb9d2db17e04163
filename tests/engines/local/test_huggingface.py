"""Engine contract on transformers architectures: rotary positions, learned positions, an adapter."""

import pytest
import torch

from handaxe.engines.local.engine import LocalEngine
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel
from handaxe.testing.engine_contract import check_engine

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
SIZES = {"vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


def tokenizer():
    from tokenizers import Tokenizer, models

    vocab = {f"t{i}": i for i in range(24)}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(vocab, "t0")), eos_token="t5", pad_token="t5"
    )


def llama():
    config = transformers.LlamaConfig(**SIZES, intermediate_size=24, num_key_value_heads=1, max_position_embeddings=20)
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config).double()


def gpt2():
    config = transformers.GPT2Config(vocab_size=24, n_embd=16, n_layer=2, n_head=2, n_positions=20, resid_pdrop=0.5)
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(config).double()


@pytest.mark.parametrize("make", [llama, gpt2])
def test_transformers_model_passes_the_engine_contract(tmp_path, make):
    check_engine(
        lambda: LocalEngine(HuggingFaceModel(make(), tokenizer()), reference=True),
        lambda: HuggingFaceModel(make(), tokenizer()),
        folder=tmp_path,
        tolerance=1e-6,
        gradient=lambda engine: {name: p.grad for name, p in engine.model.module.named_parameters()},
        weights=lambda engine: dict(engine.model.module.named_parameters()),
        reference=True,
    )


@pytest.mark.slow
def test_adapter_passes_the_engine_contract_without_a_reference_copy(tmp_path):
    peft = pytest.importorskip("peft")

    def adapted():
        config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.3)
        module = peft.get_peft_model(llama(), config)
        return AdaptedModel(module.double(), tokenizer())

    engine = LocalEngine(adapted(), reference=True)
    assert engine._reference is None and {n.split(".")[-3] for n in engine._trained} == {"lora_A", "lora_B"}
    check_engine(
        lambda: LocalEngine(adapted(), reference=True),
        adapted,
        folder=tmp_path,
        tolerance=1e-6,
        gradient=lambda engine: {name: p.grad for name, p in engine.model.module.named_parameters()},
        reference=True,
    )
