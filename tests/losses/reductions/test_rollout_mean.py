import pytest

from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.testing.batches import small_batch


def example():
    """Rows of 2 and 6 tokens; the second row holds a tool's reply, with NaN under the mask."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, None, 2.0, 2.0, 2.0, 2.0]])
    return batch.adv_BT.clone().requires_grad_(), batch


def test_example_by_hand():
    loss_BT, batch = example()
    found = rollout_mean()(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(1.5, abs=1e-12)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 4] * 2 + [1 / 12] * 6)
    assert not loss_BT.grad[~batch.mask_BT].any()


def test_two_micro_batches_add_up():
    loss_BT, batch = example()
    parts = [rollout_mean()(loss_BT[i : i + 1, :length], batch.rows(slice(i, i + 1))) for i, length in ((0, 3), (1, 8))]
    assert sum(part.item() for part in parts) == pytest.approx(1.5, abs=1e-12)


def test_an_untrained_rollout_is_not_in_the_denominator():
    """Three rollouts, the last one masked: the mean is over 2."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, 2.0], [None, None]])
    assert rollout_mean()(batch.adv_BT, batch).item() == pytest.approx(1.5)


def test_a_rollout_of_three_rows_has_the_weight_of_one_row():
    batch = small_batch([[1.0], [1.0], [4.0, 4.0], [2.0]], rollout=[0, 0, 0, 1])
    assert rollout_mean()(batch.adv_BT, batch).item() == pytest.approx((10 / 4 + 2) / 2)
