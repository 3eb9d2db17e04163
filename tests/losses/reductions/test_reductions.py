"""B15 and trap 35: two rows of 2 and 6 tokens under every reduction, values and gradients by hand, whole and split."""

import pytest
import torch

from handaxe.errors import InputError
from handaxe.losses.reductions.constant_length import constant_length
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.reductions.turn_mean import turn_mean
from handaxe.testing.batches import small_batch

# reduction, value, gradient of each token of the first row, of the second
EXAMPLES = [
    (token_mean(), 1.75, 1 / 8, 1 / 8),
    (rollout_mean(), 1.5, 1 / 4, 1 / 12),
    (rollout_sum(), 7.0, 1 / 2, 1 / 2),
    (constant_length(length=8), 0.875, 1 / 16, 1 / 16),
    (constant_length(length=8, per_rollout=False), 1.75, 1 / 8, 1 / 8),
    (turn_mean(), 1.5, 1 / 4, 1 / 12),
]


def example():
    """A tool's reply stands in the second row; NaN is under the mask."""
    rows = [[1.0, 1.0], [2.0, 2.0, None, 2.0, 2.0, 2.0, 2.0]]
    batch = small_batch(rows)
    return batch.adv_BT.clone().requires_grad_(), batch


@pytest.mark.parametrize(("reduction", "value", "first", "second"), EXAMPLES)
def test_examples(reduction, value, first, second):
    loss_BT, batch = example()
    found = reduction(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(value, abs=1e-12)
    assert loss_BT.grad[0][batch.mask_BT[0]].tolist() == pytest.approx([first] * 2)
    assert loss_BT.grad[1][batch.mask_BT[1]].tolist() == pytest.approx([second] * 6)
    assert not loss_BT.grad[~batch.mask_BT].any()


@pytest.mark.parametrize(("reduction", "value", "first", "second"), EXAMPLES)
def test_two_micro_batches_add_up(reduction, value, first, second):
    loss_BT, batch = example()
    parts = [reduction(loss_BT[i : i + 1, :length], batch.rows(slice(i, i + 1))) for i, length in ((0, 3), (1, 8))]
    assert sum(part.item() for part in parts) == pytest.approx(value, abs=1e-12)


def test_an_untrained_rollout_is_in_no_denominator():
    """Three rollouts, the last one masked: seq-mean divides by 2."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, 2.0], [None, None]])
    assert rollout_mean()(batch.adv_BT, batch).item() == pytest.approx(1.5)
    assert rollout_sum()(batch.adv_BT, batch).item() == pytest.approx(4.0)
    assert constant_length(length=4)(batch.adv_BT, batch).item() == pytest.approx(1.0)


def test_a_rollout_of_three_rows_weighs_as_one():
    batch = small_batch([[1.0], [1.0], [4.0, 4.0], [2.0]], rollout=[0, 0, 0, 1])
    assert rollout_mean()(batch.adv_BT, batch).item() == pytest.approx((10 / 4 + 2) / 2)


def test_turns_weigh_the_same():
    batch = small_batch([[1.0, 1.0, None, 2.0, 2.0, 2.0, 2.0], [6.0]], turn=[[0, 0, 0, 1, 1, 1, 1], [0]])
    loss_BT = batch.adv_BT.clone().requires_grad_()
    found = turn_mean()(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(3.0)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 12, 1 / 12, 1 / 12, 1 / 12, 1 / 3])


def test_a_length_that_is_no_length_is_refused():
    with pytest.raises(InputError, match="length"):
        constant_length(length=0)


@pytest.mark.parametrize("reduction", [row[0] for row in EXAMPLES])
def test_the_dtype_stays(reduction):
    batch = small_batch([[1.0, 2.0]], dtype=torch.float32)
    assert reduction(batch.adv_BT, batch).dtype == torch.float32
