import pytest

from handaxe.core.errors import InputError
from handaxe.losses.corrections.mis import mis
from handaxe.testing.batches import small_batch


def example(rollout=None):
    """old - behaviour: 0.5, 1.5 and -1."""
    return small_batch([[1.0, 1.0, 1.0]], old=[[-1.0, -0.5, -2.0]], behaviour=[[-1.5, -2.0, -1.0]], rollout=rollout)


def test_mis_matches_the_docstring_example():
    weight_BT, raw_BT = mis()(example())
    assert weight_BT.tolist() == [[0.0, pytest.approx(1.6487213), 0.0, 0.0]]
    assert raw_BT.tolist() == [[0.0, *[pytest.approx(x) for x in (1.6487213, 4.4816891, 0.3678794)]]]


def test_floor_zero_keeps_small_weights():
    assert mis(floor=0.0)(example()).weight_BT.tolist() == [
        [0.0, pytest.approx(1.6487213), 0.0, pytest.approx(0.3678794)]
    ]


def test_without_weigh_weights_are_zero_or_one():
    weight_BT, raw_BT = mis(weigh=False)(example())
    assert weight_BT.tolist() == [[0.0, 1.0, 0.0, 0.0]]
    assert raw_BT.tolist() == [[0.0, 1.0, 1.0, 1.0]]


def test_a_rollout_is_kept_or_dropped_as_a_whole():
    """The sum is 1, the weight e = 2.718."""
    assert mis(unit="rollout")(example()).weight_BT.tolist() == [[0.0] * 4]
    kept = mis(unit="rollout", cap=3.0)(example()).weight_BT
    assert kept.tolist() == [[0.0, *[pytest.approx(2.7182818)] * 3]]


def test_rome_s_window_drops_one_chunk_and_keeps_the_other():
    """Geometric means exp(0.3) = 1.34986 and exp(0.1) = 1.10517; the tool's reply between them counts nowhere."""
    rows = {"old": [[-1.0, -1.0, None, -1.0, -1.0]], "behaviour": [[-1.2, -1.4, None, -0.9, -1.3]]}
    batch = small_batch([[1.0, 1.0, None, 1.0, 1.0]], turn=[[0, 0, None, 1, 1]], **rows)
    weight_BT, raw_BT = mis(cap=1.2, floor=0.8, unit="turn", weigh=False)(batch)
    assert weight_BT.tolist() == [[0.0, 0.0, 0.0, 0.0, 1.0, 1.0]]
    assert raw_BT.tolist() == [[0.0, 1.0, 1.0, 0.0, 1.0, 1.0]]
    weighed = mis(cap=1.2, floor=0.8, unit="turn")(batch).raw_BT[batch.mask_BT].tolist()
    assert weighed == pytest.approx([1.3498588] * 2 + [1.1051709] * 2)
    kept = mis(cap=1.2, floor=0.8)(batch).weight_BT[batch.mask_BT].tolist()
    assert kept == pytest.approx([0.0, 0.0, 0.9048374, 0.0]), "by token, exp(0.2), exp(0.4) and exp(0.3) are out"


def test_weights_have_no_gradient():
    batch = example()
    batch.old_logp_BT.requires_grad_()
    assert not mis()(batch).weight_BT.requires_grad


@pytest.mark.parametrize("bounds", [{"cap": 0.9}, {"floor": 1.1}, {"floor": -0.1}])
def test_bounds_must_enclose_one(bounds):
    with pytest.raises(InputError, match="enclose 1"):
        mis(**bounds)


def test_another_unit_is_an_error():
    with pytest.raises(InputError, match="token, turn or rollout, not 'step'"):
        mis(unit="step")
