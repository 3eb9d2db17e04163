import numpy as np
import pytest

from handaxe.ops.aggregates import AGGREGATES, PROBABILITY_AGGREGATES

A, B = np.array([0.9, 0.2, 0.95]), np.array([0.7, 0.7, 0.7])


@pytest.mark.parametrize(
    "name, first, second",
    [
        ("min", 0.2, 0.7),
        ("max", 0.95, 0.7),
        ("mean", 0.6833333, 0.7),
        ("prod", 0.171, 0.343),
        ("last", 0.95, 0.7),
        ("sum", 2.05, 2.1),
        ("geometric", 0.171 ** (1 / 3), 0.7),
        ("mean_logit", 1.2517897, 0.8472979),
        ("mean_odds", (9 + 0.25 + 19) / 3, 7 / 3),
    ],
)
def test_the_two_trajectories_of_toolcomp(name, first, second):
    """Steps (0.9, 0.2, 0.95) and (0.7, 0.7, 0.7): max prefers the first; min, prod and mean prefer the second."""
    assert AGGREGATES[name](A) == pytest.approx(first, abs=1e-6)
    assert AGGREGATES[name](B) == pytest.approx(second, abs=1e-6)


@pytest.mark.parametrize("name", AGGREGATES)
def test_a_single_step_keeps_its_order_and_certainty_is_finite(name):
    made = AGGREGATES[name]
    assert made(np.array([0.2])) < made(np.array([0.8]))
    assert np.isfinite(made(np.array([0.0, 1.0])))
    assert set(PROBABILITY_AGGREGATES) <= set(AGGREGATES)
