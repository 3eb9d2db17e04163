import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.evaluation.channel_covariance import channel_covariance


def scores(outcome=None, **channels):
    channels = {name: np.array(values, float) for name, values in channels.items()}
    first = next(iter(channels.values()), np.zeros(2))
    return Scores(np.zeros(len(first)) if outcome is None else np.array(outcome, float), channels=channels)


def test_example():
    found = channel_covariance([scores(right=[1, 0, 1, 0], formed=[1, 1, 1, 0])])
    assert found.names == ("right", "formed") and found.groups == 1
    np.testing.assert_allclose(found.spreads, [0.5, 0.4330], atol=1e-4)
    assert found.covariance[0, 1] == pytest.approx(0.125) and found.correlation[0, 1] == pytest.approx(0.5774, abs=1e-4)


def test_a_slow_loop_over_groups_of_unequal_size():
    rng = np.random.default_rng(0)
    groups = [rng.random((2, size)) + 10 * rng.random() for size in (2, 5, 3, 1)]
    found = channel_covariance([scores(a=one[0], b=one[1]) for one in groups])
    total, count = 0.0, 0
    for a, b in groups:
        if len(a) > 1:
            total += sum((x - sum(a) / len(a)) * (y - sum(b) / len(b)) for x, y in zip(a, b))
            count += len(a)
    assert found.covariance[0, 1] == pytest.approx(total / count) and found.groups == 3
    alone = channel_covariance([scores(a=groups[1][0], b=groups[1][1])])
    assert alone.correlation[0, 1] == pytest.approx(np.corrcoef(groups[1])[0, 1])


def test_how_groups_differ_does_not_enter_and_unscored_siblings_do_not_count():
    shifted = [scores(a=[0, 1], b=[1, 0]), scores(a=[100, 101], b=[51, 50])]
    assert channel_covariance(shifted).correlation[0, 1] == pytest.approx(-1)
    with_nan = scores(outcome=[0, 0, np.nan], a=[0, 1, 9], b=[1, 0, 9])
    np.testing.assert_array_equal(channel_covariance([with_nan]).covariance, channel_covariance(shifted[:1]).covariance)


def test_a_channel_that_never_varies_has_no_correlation():
    found = channel_covariance([scores(a=[0, 1], b=[0.1 + 0.2, 0.3])], names=("b", "a"))
    assert found.names == ("b", "a") and found.spreads.tolist() == [0.0, 0.5] and np.isnan(found.correlation[0, 1])


def test_a_group_with_nobody_scored_is_left_out():
    some, nobody = scores(a=[0, 1], b=[1, 0]), Scores(np.full(2, np.nan))
    for order in ([some, nobody], [nobody, some]):
        found = channel_covariance(order)
        assert found.names == ("a", "b") and found.groups == 1 and found.covariance[0, 1] == pytest.approx(-0.25)
    assert channel_covariance([nobody, some], names=("b",)).groups == 1


def test_refused():
    with pytest.raises(InputError, match="no channel 'b'; there are a"):
        channel_covariance([scores(a=[0, 1])], names=("b",))
    for nothing in ([], [scores(a=[1])], [Scores(np.zeros(3))]):
        with pytest.raises(InputError, match="no group"):
            channel_covariance(nothing)
