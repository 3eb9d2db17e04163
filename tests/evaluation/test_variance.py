import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.variance import VarianceComponents, explained_share, interaction_variance, variance_components

ORACLE = np.array([[[1, 3], [4, 4]], [[5, 7], [4, 8]]], dtype=float)


def test_components_equal_the_docstring_example():
    """Means of cells 2, 4, 6, 6; of pairs 3, 6; of tasks 4, 5; MS_s 18, MS_t 2, MS_st 2, MS_e 3."""
    found = variance_components(ORACLE)
    assert found == pytest.approx((4.0, 0.0, -0.5, 3.0))
    assert found.of_pair(tasks=2, samples=2) == pytest.approx(4.5)


def slow_components(values):
    """The formulas of the docstring, in loops."""
    pairs, tasks, samples = values.shape
    grand = values.mean()
    ms_s = ms_t = ms_st = ms_e = 0.0
    for s in range(pairs):
        ms_s += tasks * samples * (values[s].mean() - grand) ** 2 / (pairs - 1)
    for t in range(tasks):
        ms_t += pairs * samples * (values[:, t].mean() - grand) ** 2 / (tasks - 1)
    for s in range(pairs):
        for t in range(tasks):
            rest = values[s, t].mean() - values[s].mean() - values[:, t].mean() + grand
            ms_st += samples * rest**2 / ((pairs - 1) * (tasks - 1))
            for k in range(samples):
                ms_e += (values[s, t, k] - values[s, t].mean()) ** 2 / (pairs * tasks * (samples - 1))
    return (
        (ms_s - ms_st) / (tasks * samples), (ms_t - ms_st) / (pairs * samples), (ms_st - ms_e) / samples, ms_e,
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 7, 3), (3, 20, 2)])
def test_components_equal_the_slow_formulas(shape):
    values = np.random.default_rng(sum(shape)).normal(size=shape)
    found = variance_components(values)
    assert found == pytest.approx(slow_components(values), abs=1e-6)
    spread = values.mean(axis=(1, 2)).var(ddof=1)
    assert found.of_pair(tasks=shape[1], samples=shape[2]) == pytest.approx(spread, abs=1e-6)


def draw(rng, truth, pairs=4, tasks=30, samples=2):
    seed, task, both, sampling = np.sqrt(truth)
    return (
        seed * rng.normal(size=(pairs, 1, 1))
        + task * rng.normal(size=(1, tasks, 1))
        + both * rng.normal(size=(pairs, tasks, 1))
        + sampling * rng.normal(size=(pairs, tasks, samples))
    )


def test_known_components_are_recovered_without_bias():
    """The mean over 3000 draws lies within four of its standard errors of each component."""
    rng, truth = np.random.default_rng(0), np.array([0.02, 0.5, 0.3, 1.0])
    found = np.array([variance_components(draw(rng, truth)) for _ in range(3000)])
    errors = found.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - truth) < 4 * errors).all()
    assert (errors < 0.05 * truth.max()).all()


def test_the_offset_of_the_tasks_is_not_in_the_variance_of_a_pair():
    assert VarianceComponents(4.0, 100.0, -0.5, 3.0).of_pair(tasks=2, samples=2) == 4.5
    rng = np.random.default_rng(1)
    values = draw(rng, [1.0, 0.0, 0.5, 0.5])
    shifted = values + rng.normal(size=(1, 30, 1))
    assert variance_components(shifted).of_pair(tasks=10) == pytest.approx(
        variance_components(values).of_pair(tasks=10)
    )


@pytest.mark.parametrize("shape", [(1, 3, 2), (2, 1, 2), (2, 3, 1), (2, 3)])
def test_too_small_designs_are_an_error(shape):
    with pytest.raises(InputError, match="2 or more pairs, tasks and samples"):
        variance_components(np.zeros(shape))


def test_values_that_are_not_finite_are_an_error():
    with pytest.raises(InputError, match="finite"):
        variance_components(np.full((2, 2, 2), np.nan))


def test_interaction_variance_equals_the_docstring_example():
    assert interaction_variance(np.array([[2.0, 4.0], [6.0, 6.0]])) == pytest.approx(1.0)
    offsets = np.arange(4.0)[:, None] + np.arange(30.0)
    assert interaction_variance(offsets) == pytest.approx(0.0, abs=1e-6)


def test_explained_share_equals_the_docstring_example():
    assert explained_share([[0, 0, 3], [2, 0, 1]], [[0, 2, 1], [2, 0, 1]]) == pytest.approx(-0.5)


def test_explained_share_is_1_for_the_same_interaction_and_0_on_average_for_none():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(4, 30))
    covariate = 3 * values + rng.normal(size=(4, 1)) + rng.normal(size=(1, 30))
    assert explained_share(values, covariate) == pytest.approx(1.0)
    assert explained_share(values, np.ones((4, 30))) == 0.0
    shares = [explained_share(rng.normal(size=(4, 30)), rng.normal(size=(4, 30))) for _ in range(2000)]
    assert abs(np.mean(shares)) < 4 * np.std(shares) / np.sqrt(len(shares))


def test_explained_share_recovers_a_known_share():
    """d = z + noise with variances 1 and 3: the share is 1 / 4."""
    rng = np.random.default_rng(3)
    covariate = rng.normal(size=(4, 4000))
    found = explained_share(covariate + np.sqrt(3) * rng.normal(size=(4, 4000)), covariate)
    assert found == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("shapes", [((2, 3), (2, 4)), ((1, 3), (1, 3)), ((2, 2), (2, 2)), ((6,), (6,))])
def test_other_shapes_of_a_covariate_are_an_error(shapes):
    with pytest.raises(InputError, match="2 or more pairs and 3 or more tasks"):
        explained_share(*map(np.zeros, shapes))
