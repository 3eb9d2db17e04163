import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.embeddings import embeddings
from handaxe.models.load import Policy
from handaxe.models.tiny import TinyConfig, TinyModel


def make_policy():
    return Policy(TinyModel.new(TinyConfig(width=8, layers=1, heads=1)), Compact())


def test_embedder_returns_a_table_row_per_byte():
    policy = make_policy()
    embed = embeddings(policy)
    table = policy.model.module.embed.weight.detach().double().numpy()
    assert embed("tok").tolist() == [table[byte].tolist() for byte in b"tok"]
    assert embed("tok").dtype == np.float64 and embed("").shape == (0, 8)
    assert embed("\u00fc").shape == (2, 8)


def test_embedder_keeps_the_table_of_its_creation():
    policy = make_policy()
    embed = embeddings(policy)
    first = embed("a")
    with torch.no_grad():
        policy.model.module.embed.weight.add_(1)
    assert embed("a").tolist() == first.tolist()
    assert embeddings(policy)("a") == pytest.approx(first + 1, abs=1e-6)


def test_model_without_input_embeddings_is_an_input_error():
    class Other:
        pass

    with pytest.raises(InputError, match="Other has no input embeddings"):
        embeddings(Policy(Other(), Compact()))


def test_embedder_accepts_a_transformers_model():
    transformers = pytest.importorskip("transformers")
    from handaxe.models.trunk import Trunk

    config = transformers.LlamaConfig(
        vocab_size=264, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    model = Trunk(transformers.LlamaForCausalLM(config))
    assert embeddings(Policy(model, Compact()))("ab").shape == (2, 8)
