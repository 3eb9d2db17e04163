import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.brme.robust_score import robust_score

HEADS = [(1.0, 0.5), (0.6, 0.2), (0.2, 0.9)]


def outputs(*rollouts):
    return np.array([[number for mean, std in heads for number in (mean, math.log(std))] for heads in rollouts])


def test_scores_by_hand():
    found = robust_score(outputs(HEADS), nominal_weight=0.6)
    assert (found.nominal_G[0], found.worst_G[0], found.mixed_G[0]) == pytest.approx((0.6, 0.2, 0.44), abs=1e-9)
    assert found.spread_G[0] == pytest.approx(0.2, abs=1e-9)


def test_the_worst_of_the_group_is_one_head():
    """Means of the heads over two rollouts: 0.5 and 0.45; the second head scores both rollouts."""
    two = outputs([(1.0, 0.5), (0.6, 0.2)], [(0.0, 0.5), (0.3, 0.2)])
    assert robust_score(two, worst="group").worst_G == pytest.approx([0.6, 0.3], abs=1e-9)
    assert robust_score(two, worst="rollout").worst_G == pytest.approx([0.6, 0.0], abs=1e-9)


@pytest.mark.parametrize("worst", ["rollout", "group"])
def test_scores_equal_a_slow_loop(worst):
    rng = np.random.default_rng(0)
    output_GK = rng.normal(size=(7, 8))
    found = robust_score(output_GK, nominal_weight=0.3, worst=worst)
    totals = [sum(output_GK[g, 2 * h] for g in range(7)) for h in range(4)]
    for g in range(7):
        mean = [output_GK[g, 2 * h] for h in range(4)]
        log_std = [output_GK[g, 2 * h + 1] for h in range(4)]
        nominal = mean[log_std.index(min(log_std))]
        least = min(mean) if worst == "rollout" else mean[totals.index(min(totals))]
        assert found.mixed_G[g] == pytest.approx(0.3 * nominal + 0.7 * least, abs=1e-9)


def test_the_ends_of_the_weight_and_the_bound():
    output_GK = np.random.default_rng(1).normal(size=(20, 6))
    for weight, name in ((1.0, "nominal_G"), (0.0, "worst_G")):
        found = robust_score(output_GK, nominal_weight=weight)
        assert found.mixed_G == pytest.approx(getattr(found, name), abs=1e-12)
    assert (found.worst_G <= found.nominal_G).all()
    assert robust_score(np.zeros((0, 6))).mixed_G.shape == (0,)
    assert robust_score(np.zeros((0, 6)), worst="group").mixed_G.shape == (0,)


@pytest.mark.parametrize("options", [{"nominal_weight": 1.1}, {"worst": "batch"}])
def test_wrong_arguments_raise(options):
    with pytest.raises(InputError, match="nominal_weight from 0 to 1"):
        robust_score(np.zeros((1, 4)), **options)
    with pytest.raises(InputError, match="3 outputs"):
        robust_score(np.zeros((1, 3)))
