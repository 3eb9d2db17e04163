import pytest

from handaxe.errors import InputError
from handaxe.losses.corrections.tis import tis
from handaxe.testing.batches import small_batch


def example():
    return small_batch([[1.0, None, 1.0]], old=[[-1.0, None, -0.5]], behaviour=[[-1.5, None, -2.0]])


def test_examples():
    weight_BT, raw_BT = tis()(example())
    assert weight_BT.tolist() == [[0.0, pytest.approx(1.6487213), 0.0, 2.0]]
    assert raw_BT.tolist() == [[0.0, pytest.approx(1.6487213), 0.0, pytest.approx(4.4816891)]]


def test_per_rollout_multiplies_the_tokens():
    weight_BT, raw_BT = tis(per_rollout=True, cap=10.0)(example())
    assert raw_BT.tolist() == [[0.0, pytest.approx(7.3890561), 0.0, pytest.approx(7.3890561)]]
    assert weight_BT.tolist() == raw_BT.tolist()
    assert tis(per_rollout=True)(example()).weight_BT.tolist() == [[0.0, 2.0, 0.0, 2.0]]


def test_the_same_log_probs_weigh_one():
    batch = small_batch([[1.0, 1.0]])
    assert tis()(batch).weight_BT.tolist() == [[0.0, 1.0, 1.0]]


def test_no_gradient():
    batch = example()
    batch.old_logp_BT.requires_grad_()
    assert not tis()(batch).weight_BT.requires_grad


def test_half_a_rollout_is_refused():
    batch = small_batch([[1.0], [1.0]], rollout=[3, 3])
    with pytest.raises(InputError, match=r"\[3\]"):
        tis(per_rollout=True)(batch.rows(slice(0, 1)))


def test_a_cap_below_one_is_refused():
    with pytest.raises(InputError, match="cap"):
        tis(cap=0.5)
