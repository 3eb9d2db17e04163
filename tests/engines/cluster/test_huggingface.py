"""Sharded transformers models equal one process: tied and untied heads, an adapter, GPT-2."""

import pytest
import torch

from handaxe.core.heads import Head
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel
from handaxe.testing.engine_case import example_batch, example_loss

pytestmark = [pytest.mark.hf, pytest.mark.slow]
transformers = pytest.importorskip("transformers")
SIZES = {"vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


def tokenizer():
    from tokenizers import Tokenizer, models

    vocab = {f"t{i}": i for i in range(24)}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(vocab, "t0")), eos_token="t5", pad_token="t5"
    )


def llama(tied=False):
    config = transformers.LlamaConfig(
        **SIZES, intermediate_size=24, num_key_value_heads=1, max_position_embeddings=20, tie_word_embeddings=tied
    )
    torch.manual_seed(0)
    return HuggingFaceModel(in_float64(transformers.LlamaForCausalLM(config)), tokenizer())


def in_float64(module):
    """Convert a module to float64, including its norms: the norms of transformers round to float32."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child).__name__ == "LlamaRMSNorm":
                setattr(parent, name, torch.nn.RMSNorm(child.weight.shape[0], eps=child.variance_epsilon))
    return module.double()


def adapted():
    peft = pytest.importorskip("peft")
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    return AdaptedModel(peft.get_peft_model(llama().module, config).double(), tokenizer())


def gpt2():
    config = transformers.GPT2Config(vocab_size=24, n_embd=16, n_layer=2, n_head=2, n_positions=20)
    torch.manual_seed(0)
    return HuggingFaceModel(transformers.GPT2LMHeadModel(config).double(), tokenizer())


@pytest.fixture(scope="module", params=[2, 3], ids=["two ranks", "three ranks"])
def ranks(request):
    started = Ranks(request.param, timeout=300.0, device="cpu")
    yield started
    started.close()


@pytest.mark.parametrize(
    "make, options",
    [
        (lambda: llama(tied=True), {"reference": True, "critic": True}),
        (llama, {"gradient_checkpointing": True}),
        (llama, {"packing": "rows", "gradient_checkpointing": True}),
        (adapted, {"reference": True}),
        (gpt2, {}),
    ],
    ids=["tied", "untied, checkpointing", "rows, checkpointing", "adapter", "gpt2"],
)
def test_ranks_equal_one_process(ranks, make, options, tmp_path):
    one, several = LocalEngine(make(), **options), ClusterEngine(make(), trainers=ranks, **options)
    for seed in range(3):
        batch = example_batch(one.model, seed=seed, rows=1 if seed == 1 else 5)
        batch = batch.map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
        reference = options.get("reference", False)
        want, got = (engine.forward(batch, reference=reference)["logp"] for engine in (one, several))
        torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
        values = [engine.forward_backward(batch, example_loss).value for engine in (one, several)]
        torch.testing.assert_close(values[1], values[0], rtol=0, atol=1e-12)
        norms = [engine.optim_step(learning_rate=1e-2)["grad_norm"] for engine in (one, several)]
        assert norms[1] == pytest.approx(norms[0], abs=1e-12)
    found = dict(several.iter_weights())
    for name, p in one.model.module.named_parameters():
        # Adam turns a gradient of pure rounding error, as of GPT-2's key bias, into a step.
        torch.testing.assert_close(found[name], p.detach(), rtol=0, atol=1e-10 if make is gpt2 else 1e-12, msg=name)
    several.save(tmp_path / "checkpoint")
    reloaded = LocalEngine(make(), **options)
    reloaded.load(tmp_path / "checkpoint")
    torch.testing.assert_close(reloaded.forward(batch)["logp"], several.forward(batch)["logp"], rtol=0, atol=1e-12)
    assert (tmp_path / "checkpoint" / "model" / "config.json").is_file()
    plain = dict(several.iter_served_weights())  # adapters merged, by the names of transformers
    assert {"model.layers.0.self_attn.q_proj.weight"} <= plain.keys() or make is gpt2
    assert not any("lora" in name for name in plain)
    several.load(tmp_path / "checkpoint")  # with untrained weights, too
    several.load_weights(tmp_path / "checkpoint")
    assert several.state_dict()["frozen"] == reloaded.state_dict()["frozen"]
    torch.testing.assert_close(several.forward(batch)["logp"], reloaded.forward(batch)["logp"], rtol=0, atol=1e-12)
    several.close()


def test_twins_of_an_adapter_share_the_base_and_train_apart(ranks):
    heads = {"reward": Head()}
    several, one = ClusterEngine(adapted(), trainers=ranks), LocalEngine(adapted())
    alone = ranks.weight_bytes()
    twin, local = several.twin(heads=heads), one.twin(heads=heads)
    added = sum(ranks.weight_bytes()) - sum(alone)
    trained = sum(p.numel() for p in one.model.module.parameters() if p.requires_grad)
    padded_head = 2 * (SIZES["hidden_size"] + 1)
    if ranks.count == 2:  # three ranks pad 16 rows, and padded shards are copies
        assert added == 8 * (trained + padded_head) < sum(alone) / 2
    batch = example_batch(one.model, seed=0, rows=5)
    batch = batch.map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
    before = several.forward(batch)["logp"]
    for engine in (twin, local):
        engine.forward_backward(batch, example_loss)
        engine.optim_step(learning_rate=1e-2)
    torch.testing.assert_close(twin.forward(batch)["logp"], local.forward(batch)["logp"], rtol=0, atol=1e-12)
    assert torch.equal(several.forward(batch)["logp"], before)
    assert not torch.equal(twin.forward(batch)["logp"], before)
    several.close()
    torch.testing.assert_close(twin.forward(batch)["logp"], local.forward(batch)["logp"], rtol=0, atol=1e-12)
    twin.close()
