import pytest

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.testing.batches import small_batch


def example():
    """Rows of 2 and 6 tokens; the second row holds a tool's reply, with NaN under the mask."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, None, 2.0, 2.0, 2.0, 2.0]])
    return batch.adv_BT.clone().requires_grad_(), batch


def test_example_by_hand():
    loss_BT, batch = example()
    found = token_mean()(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(1.75, abs=1e-12)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 8] * 2 + [1 / 8] * 6)
    assert not loss_BT.grad[~batch.mask_BT].any()


def test_two_micro_batches_add_up():
    loss_BT, batch = example()
    parts = [token_mean()(loss_BT[i : i + 1, :length], batch.rows(slice(i, i + 1))) for i, length in ((0, 3), (1, 8))]
    assert sum(part.item() for part in parts) == pytest.approx(1.75, abs=1e-12)


def test_an_untrained_rollout_counts_nothing():
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, 2.0], [None, None]])
    assert token_mean()(batch.adv_BT, batch).item() == pytest.approx(8 / 5)
