import pytest
import torch

from handaxe.losses.parts.token_metrics import effective_sample_size, floats, mean_over_tokens
from handaxe.testing.batches import small_batch


def test_effective_sample_size_matches_the_docstring_example():
    weights = [2 / 3, 2 / 3, 2 / 3, 2.0]
    metrics = {
        "correction_mean": sum(weights) / 4,
        "correction_square": sum(weight**2 for weight in weights) / 4,
    }
    assert effective_sample_size(metrics) == pytest.approx(0.75)
    assert effective_sample_size({"correction_mean": 0.0, "correction_square": 0.0}) == 0.0
    assert effective_sample_size({"correction_mean": 1.0, "correction_square": 1.0}) == 1.0


def test_floats_returns_python_numbers():
    assert floats({}) == {}
    assert floats({"a": torch.tensor(1.5), "b": torch.tensor(2.0, requires_grad=True)}) == {"a": 1.5, "b": 2.0}


def test_mean_over_tokens_divides_by_the_whole_step():
    batch = small_batch([[1.0, 2.0], [6.0, None]])
    assert mean_over_tokens(batch.adv_BT, batch).item() == pytest.approx(3.0)
    part = batch.rows(slice(1, 2))
    assert mean_over_tokens(part.adv_BT, part).item() == pytest.approx(2.0)
