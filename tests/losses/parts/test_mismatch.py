import pytest

from handaxe.core.errors import InputError
from handaxe.losses.parts.mismatch import log_mismatch, validate_unit
from handaxe.testing.batches import small_batch


def example():
    """old - behaviour 0.2 and 0.4, then a tool's reply, then in another row -0.1 and 0.3."""
    behaviour = [[-1.2, -1.4, None], [-0.9, -1.3]]
    return small_batch([[1.0, 1.0, None], [1.0, 1.0]], behaviour=behaviour, turn=[[0, 0, None], [1, 1]], rollout=[0, 0])


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [("token", [0.2, 0.4, -0.1, 0.3]), ("turn", [0.3, 0.3, 0.1, 0.1]), ("rollout", [0.8] * 4)],
)
def test_log_mismatch_by_each_unit(unit, wanted):
    batch = example()
    found_BT = log_mismatch(batch, unit)
    assert found_BT[batch.mask_BT].tolist() == pytest.approx(wanted) and not found_BT[~batch.mask_BT].any()


def test_another_unit_is_an_error():
    with pytest.raises(InputError, match="not 'chunk'"):
        validate_unit("chunk")
