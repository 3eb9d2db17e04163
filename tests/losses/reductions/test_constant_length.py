import pytest

from handaxe.core.errors import InputError
from handaxe.losses.reductions.constant_length import constant_length
from handaxe.testing.batches import small_batch

EXAMPLE = {"length": 8}


def example():
    """Rows of 2 and 6 tokens; the second row holds a tool's reply, with NaN under the mask."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, None, 2.0, 2.0, 2.0, 2.0]])
    return batch.adv_BT.clone().requires_grad_(), batch


def test_example_by_hand():
    loss_BT, batch = example()
    found = constant_length(length=8)(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(0.875, abs=1e-12)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 16] * 2 + [1 / 16] * 6)
    assert not loss_BT.grad[~batch.mask_BT].any()


def test_two_micro_batches_add_up():
    loss_BT, batch = example()
    parts = [
        constant_length(length=8)(loss_BT[i : i + 1, :length], batch.rows(slice(i, i + 1)))
        for i, length in ((0, 3), (1, 8))
    ]
    assert sum(part.item() for part in parts) == pytest.approx(0.875, abs=1e-12)


def test_without_per_rollout_the_sum_is_not_divided_by_rollouts():
    loss_BT, batch = example()
    found = constant_length(length=8, per_rollout=False)(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(1.75)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 8] * 8)


def test_a_length_of_zero_is_an_error():
    with pytest.raises(InputError, match="length"):
        constant_length(length=0)
