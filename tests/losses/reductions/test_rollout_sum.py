import pytest

from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.testing.batches import small_batch


def example():
    """Rows of 2 and 6 tokens; the second row holds a tool's reply, with NaN under the mask."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, None, 2.0, 2.0, 2.0, 2.0]])
    return batch.adv_BT.clone().requires_grad_(), batch


def test_example_by_hand():
    loss_BT, batch = example()
    found = rollout_sum()(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(7.0, abs=1e-12)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 2] * 2 + [1 / 2] * 6)
    assert not loss_BT.grad[~batch.mask_BT].any()


def test_two_micro_batches_add_up():
    loss_BT, batch = example()
    parts = [rollout_sum()(loss_BT[i : i + 1, :length], batch.rows(slice(i, i + 1))) for i, length in ((0, 3), (1, 8))]
    assert sum(part.item() for part in parts) == pytest.approx(7.0, abs=1e-12)


def test_a_rollout_of_two_rows_counts_once():
    batch = small_batch([[1.0], [4.0, 4.0], [3.0], [None]], rollout=[0, 0, 1, 2])
    assert rollout_sum()(batch.adv_BT, batch).item() == pytest.approx((9 + 3) / 2)
