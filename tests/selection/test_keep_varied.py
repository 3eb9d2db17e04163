import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.selection.keep_varied import keep_varied
from handaxe.testing.make_records import make_rated

CONTRACT = [{}, {"share": 0.4, "std": "population"}]


def kept(select, *outcomes):
    batch = [make_rated(outcome=outcome) for outcome in outcomes]
    found = select(batch)
    return [one in found for one in batch]


def test_keep_varied_keeps_the_groups_of_largest_deviation():
    outcomes = [[0, np.sqrt(2) * s] for s in (0.5, 0, 0.2, 0.4)]  # sample std of two numbers: distance / sqrt 2
    assert kept(keep_varied(), *outcomes) == [True, False, True, True]


def test_keep_varied_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    for share in (0.3, 0.5, 0.75, 1.0):
        outcomes = [rng.random(4).tolist() for _ in range(7)]
        stds = [np.std(own, ddof=1) for own in outcomes]
        least = int(np.ceil(share * 7))
        wanted = [sum(other > std for other in stds) < least for std in stds]
        assert kept(keep_varied(share=share), *outcomes) == wanted and sum(wanted) == least


def test_ties_are_kept_and_lone_or_unscored_siblings_have_deviation_zero():
    assert kept(keep_varied(share=0.5), [0, 1], [1, 0], [0, 1], [0, 0]) == [True, True, True, False]
    assert kept(keep_varied(share=0.3), [1], [np.nan, 1, np.nan], [0, 0.5]) == [False, False, True]
    assert kept(keep_varied(), [1], [1]) == [True, True] and keep_varied()([]) == []


def test_a_share_outside_zero_to_one_is_an_error():
    for share in (0, 1.1):
        with pytest.raises(InputError, match="share"):
            keep_varied(share=share)
