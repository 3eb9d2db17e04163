import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.models.compact import Compact
from handaxe.models.embeddings import embeddings
from handaxe.models.load import Policy
from handaxe.models.tiny import TinyConfig, TinyModel


def policy():
    return Policy(TinyModel.new(TinyConfig(width=8, layers=1, heads=1)), Compact())


def test_a_row_a_byte_of_the_input_table():
    made = policy()
    embed = embeddings(made)
    table = made.model.module.embed.weight.detach().double().numpy()
    assert embed("tok").tolist() == [table[byte].tolist() for byte in b"tok"]
    assert embed("tok").dtype == np.float64 and embed("").shape == (0, 8)
    assert embed("\u00fc").shape == (2, 8)


def test_it_is_the_table_as_it_was():
    made = policy()
    embed = embeddings(made)
    before = embed("a")
    with torch.no_grad():
        made.model.module.embed.weight.add_(1)
    assert embed("a").tolist() == before.tolist()
    assert embeddings(made)("a") == pytest.approx(before + 1, abs=1e-6)


def test_a_model_without_a_table():
    class Other:
        pass

    with pytest.raises(InputError, match="Other has no table"):
        embeddings(Policy(Other(), Compact()))


def test_a_transformers_model():
    transformers = pytest.importorskip("transformers")
    from handaxe.models.trunk import Trunk

    config = transformers.LlamaConfig(
        vocab_size=264, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    model = Trunk(transformers.LlamaForCausalLM(config))
    assert embeddings(Policy(model, Compact()))("ab").shape == (2, 8)
