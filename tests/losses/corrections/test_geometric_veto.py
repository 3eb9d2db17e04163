import pytest

from handaxe.core.errors import InputError
from handaxe.losses.corrections.geometric_veto import geometric_veto
from handaxe.testing.batches import small_batch

TOGETHER = "rollouts"


def example(rollout=(0, 1)):
    """old - behaviour: 0.3 and -0.1 in the first row, -0.5 in the second."""
    return small_batch([[1.0, 1.0], [1.0]], old=-1.0, behaviour=[[-1.3, -0.9], [-0.5]], rollout=rollout)


def test_geometric_veto_matches_the_docstring_example():
    assert geometric_veto(cap=1.2)(example()).weight_BT.tolist() == [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    assert geometric_veto(cap=1.1)(example()).weight_BT.tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert geometric_veto(cap=1.2, floor=0.6)(example()).weight_BT.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    assert geometric_veto()(example()).raw_BT.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]


def test_rows_of_a_rollout_share_one_mean():
    """(0.3 - 0.1 - 0.5) / 3 = -0.1."""
    both = example(rollout=[0, 0])
    assert geometric_veto(cap=1.2)(both).weight_BT.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    with pytest.raises(InputError):
        geometric_veto()(both.rows(slice(1, 2)))


def test_equal_log_probs_are_always_kept():
    batch = small_batch([[1.0, 1.0]])
    assert geometric_veto(cap=1.0)(batch).weight_BT.tolist() == [[0.0, 1.0, 1.0]]


def test_weights_have_no_gradient():
    batch = example()
    batch.old_logp_BT.requires_grad_()
    assert not geometric_veto()(batch).weight_BT.requires_grad


def test_bounds_must_enclose_one():
    with pytest.raises(InputError, match="enclose 1"):
        geometric_veto(cap=0.99)
