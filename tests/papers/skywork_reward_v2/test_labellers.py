import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Pair
from handaxe.papers.skywork_reward_v2.curation import flipped
from handaxe.papers.skywork_reward_v2.labellers import agreeing_labellers, wild_order
from handaxe.testing.make_records import make_trajectory

CONTRACT = []


def truth(pair):
    return pair.chosen.id.endswith("better")


PAIRS = [Pair(make_trajectory(id=f"{n}/better"), make_trajectory(id=f"{n}/worse")) for n in range(1500)]


def test_error_and_coverage_by_hand():
    """Three answers with error 0.3: a model errs with 3 * 0.09 * 0.7 + 0.027 = 0.216."""
    found = [agreeing_labellers(truth, error=0.3)(pair) for pair in PAIRS]
    kept = [one for one in found if one is not None]
    assert len(kept) / len(found) == pytest.approx(0.216**2 + 0.784**2, abs=0.04)
    wrong = np.mean([not truth(one) for one in kept])
    assert wrong == pytest.approx(0.216**2 / (0.216**2 + 0.784**2), abs=0.025)


def test_a_label_is_independent_of_the_given_order():
    label = agreeing_labellers(truth, error=0.4, seed=3)
    for pair in PAIRS[:100]:
        first, second = label(pair), label(flipped(pair))
        assert (first is None) == (second is None)
        if first is not None:
            assert first.chosen.id == second.chosen.id


def test_no_error_is_the_truth():
    label = agreeing_labellers(truth, error=0.0)
    assert all(truth(label(flipped(pair))) for pair in PAIRS[:20])
    assert all(truth(wild_order(flipped(pair), truth, error=0.0, seed=0)) for pair in PAIRS[:20])


def test_the_wild_order_errs_as_often_as_told():
    wrong = [not truth(wild_order(pair, truth, error=0.3, seed=0)) for pair in PAIRS]
    assert np.mean(wrong) == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("options", [{"error": 0.6}, {"samples": 2}, {"models": 0}])
def test_wrong_numbers_raise(options):
    with pytest.raises(InputError, match="odd samples"):
        agreeing_labellers(truth, **options)
