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


@pytest.mark.slow
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


def adapters_on_one_base(count):
    """Engines with separate adapters, twins of the first."""
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM")
    first = LocalEngine(AdaptedModel(peft.get_peft_model(llama(), config).double(), tokenizer()), reference=True)
    return [first, *(first.twin(reference=True) for _ in range(count - 1))]


def storage(engines):
    """Bytes of the parameters of several engines, each storage once."""
    found = {
        p.untyped_storage().data_ptr(): p.untyped_storage().nbytes()
        for engine in engines
        for p in engine.model.module.parameters()
    }
    return sum(found.values())


def test_twins_with_adapters_share_one_base_in_memory():
    engines = adapters_on_one_base(3)
    trained = sum(p.numel() * p.element_size() for p in engines[0]._trained.values())
    frozen = storage(engines[:1]) - trained
    assert frozen > 2 * trained
    assert storage(engines) == frozen + 3 * trained


def test_adapters_on_one_base_train_independently(batch_from_rows, likelihood):
    """Ten steps of two adapters: the base and the reference stay, and an adapter ends as if it had trained alone."""
    batch = batch_from_rows([list(range(1, 9)), list(range(8, 0, -1))])

    def train(engine, rate):
        engine.forward_backward(batch, likelihood)
        engine.optim_step(learning_rate=rate)

    first, second = adapters_on_one_base(2)
    (alone,) = adapters_on_one_base(1)
    base, reference = first._frozen, first.forward(batch, reference=True)["logp"]
    for _ in range(10):
        train(first, 1e-2)
        train(second, 3e-2)
        train(alone, 1e-2)
    assert torch.equal(first.forward(batch)["logp"], alone.forward(batch)["logp"])
    assert not torch.allclose(first.forward(batch)["logp"], second.forward(batch)["logp"])
    for engine in (first, second):
        engine.__dict__.pop("_frozen", None)  # a cached property
        assert engine._frozen == base
        assert torch.equal(engine.forward(batch, reference=True)["logp"], reference)
