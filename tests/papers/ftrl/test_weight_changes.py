import pytest
import torch

import handaxe as hx
from handaxe.core.errors import InputError
from handaxe.papers.ftrl.weight_changes import BlockPart, weight_changes


def test_weight_changes_match_the_docstring_example():
    before, after = torch.tensor([[3.0, 4.0]]), torch.tensor([[3.0, 5.0]])
    assert weight_changes({"blocks.0.qkv": before}, {"blocks.0.qkv": after}) == {BlockPart(0, "attention"): 0.2}


def test_matrices_of_a_part_count_together_and_vectors_do_not():
    """Two MLP matrices: moved 1 + 4, size 9 + 16, so sqrt(5 / 25)."""
    before = {
        "model.layers.1.mlp.up_proj.weight": torch.tensor([[3.0]]),
        "model.layers.1.mlp.down_proj.weight": torch.tensor([[4.0]]),
        "model.layers.1.self_attn.q_proj.weight": torch.tensor([[2.0]]),
        "model.layers.1.input_layernorm.weight": torch.tensor([1.0]),
        "lm_head.weight": torch.tensor([[1.0]]),
    }
    after = {name: weight + 1 for name, weight in before.items()}
    after["model.layers.1.mlp.down_proj.weight"] = torch.tensor([[2.0]])
    found = weight_changes(before, after)
    assert found == {BlockPart(1, "attention"): 0.5, BlockPart(1, "mlp"): pytest.approx(0.2**0.5, abs=1e-12)}


def test_blocks_of_the_packaged_policy_are_found():
    model, _ = hx.load("tiny")
    own = dict(model.module.named_parameters())
    found = weight_changes(own, {name: 1.1 * weight for name, weight in own.items()})
    assert list(found) == [BlockPart(k, part) for k in range(4) for part in ("attention", "mlp")]
    assert list(found.values()) == pytest.approx([0.1] * 8, abs=1e-6)


def test_models_without_blocks_and_with_other_parameters_are_errors():
    one = {"head.weight": torch.ones(1, 1)}
    with pytest.raises(InputError, match="no block"):
        weight_changes(one, one)
    with pytest.raises(InputError, match="'head.weight'"):
        weight_changes(one, {})
