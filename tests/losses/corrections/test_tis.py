import pytest

from handaxe.core.errors import InputError
from handaxe.losses.corrections.tis import tis
from handaxe.testing.batches import small_batch


def example():
    return small_batch([[1.0, None, 1.0]], old=[[-1.0, None, -0.5]], behaviour=[[-1.5, None, -2.0]])


def test_tis_matches_the_docstring_example():
    weight_BT, raw_BT = tis()(example())
    assert weight_BT.tolist() == [[0.0, pytest.approx(1.6487213), 0.0, 2.0]]
    assert raw_BT.tolist() == [[0.0, pytest.approx(1.6487213), 0.0, pytest.approx(4.4816891)]]


def test_by_rollout_token_weights_are_multiplied():
    weight_BT, raw_BT = tis(unit="rollout", cap=10.0)(example())
    assert raw_BT.tolist() == [[0.0, pytest.approx(7.3890561), 0.0, pytest.approx(7.3890561)]]
    assert weight_BT.tolist() == raw_BT.tolist()
    assert tis(unit="rollout")(example()).weight_BT.tolist() == [[0.0, 2.0, 0.0, 2.0]]


def test_by_turn_the_weight_is_the_geometric_mean():
    behaviour = [[-1.2, -1.4], [-0.9, None, -1.3]]
    batch = small_batch([[1.0, 1.0], [1.0, None, 1.0]], behaviour=behaviour, turn=[[0, 0], [1, None, 1]])
    weight_BT, raw_BT = tis(cap=1.2, unit="turn")(batch)
    assert raw_BT[batch.mask_BT].tolist() == pytest.approx([1.3498588] * 2 + [1.1051709] * 2)
    assert weight_BT[batch.mask_BT].tolist() == pytest.approx([1.2] * 2 + [1.1051709] * 2)
    apart = small_batch([[1.0, 1.0]], behaviour=[[-1.2, -1.4]], turn=[[0, 1]])
    assert tis(unit="turn")(apart).weight_BT.tolist() == tis()(apart).weight_BT.tolist()


def test_equal_log_probs_have_weight_one():
    batch = small_batch([[1.0, 1.0]])
    assert tis()(batch).weight_BT.tolist() == [[0.0, 1.0, 1.0]]


def test_weights_have_no_gradient():
    batch = example()
    batch.old_logp_BT.requires_grad_()
    assert not tis()(batch).weight_BT.requires_grad


def test_half_a_rollout_is_an_error():
    batch = small_batch([[1.0], [1.0]], rollout=[3, 3])
    with pytest.raises(InputError, match=r"\[3\]"):
        tis(unit="rollout")(batch.rows(slice(0, 1)))


def test_a_cap_below_one_is_an_error():
    with pytest.raises(InputError, match="cap"):
        tis(cap=0.5)


def test_another_unit_is_an_error():
    with pytest.raises(InputError, match="token, turn or rollout, not 'step'"):
        tis(unit="step")
