import numpy as np
import pytest
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.papers.calibrated.calibration import auroc, calibration_error


def random_answers(seed, count=60, levels=11):
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, count) / 10, rng.integers(0, 2, count).astype(float)


def slow_error(c, z, bins):
    total = 0.0
    for b in range(1, bins + 1):
        inside = [i for i in range(len(c)) if (b - 1) / bins < c[i] <= b / bins or (b == 1 and c[i] == 0)]
        if inside:
            apart = np.mean([z[i] for i in inside]) - np.mean([c[i] for i in inside])
            total += len(inside) / len(c) * abs(apart)
    return total


def test_calibration_error_and_auroc_equal_the_examples():
    assert calibration_error([0.9, 0.9, 0.2, 0.25], [1, 0, 0, 1]) == pytest.approx(0.4375)
    assert auroc([0.9, 0.5, 0.5, 0.1], [1, 1, 0, 0]) == 0.875


@pytest.mark.parametrize("seed", range(5))
def test_calibration_error_and_auroc_equal_slow_loops(seed):
    c, z = random_answers(seed)
    for bins in (1, 5, 10):
        assert calibration_error(c, z, bins=bins) == pytest.approx(slow_error(c, z, bins))
    pairs = [(c[i] > c[j]) + 0.5 * (c[i] == c[j]) for i in range(60) for j in range(60) if z[i] > z[j]]
    assert auroc(c, z) == pytest.approx(np.mean(pairs))
    u = stats.mannwhitneyu(c[z == 1], c[z == 0]).statistic
    assert auroc(c, z) == pytest.approx(u / ((z == 1).sum() * (z == 0).sum()))
    order = np.random.default_rng(seed).permutation(60)
    for figure in (calibration_error, auroc):
        assert figure(c[order], z[order]) == pytest.approx(figure(c, z))


def test_bins_include_their_upper_bound():
    for k in range(11):
        low = max(k - 1, 0) / 10 + 1e-6
        together = calibration_error([k / 10, low], [1, 0])
        assert together == pytest.approx(abs(1 - k / 10 - low) / 2)  # one bin: what is apart adds up before the modulus


def test_auroc_is_1_and_0_at_the_extremes():
    z = np.array([1.0, 0, 1, 0])
    assert calibration_error(z, z) == 0 and auroc(z, z) == 1
    assert calibration_error(1 - z, z) == 1
    assert auroc(1 - z, z) == 0 and auroc(np.full(4, 0.3), z) == 0.5


def test_undefined_values_are_nan_and_bad_input_raises():
    for figure in (calibration_error, auroc):
        assert np.isnan(figure([], []))
    assert np.isnan(auroc([0.5, 0.7], [1, 1]))
    with pytest.raises(InputError, match="one confidence for each answer"):
        auroc([0.5], [1, 0])
    with pytest.raises(InputError, match="outside 0 to 1"):
        calibration_error([1.1], [1])
    with pytest.raises(InputError, match="outside 0 to 1"):
        auroc([float("nan")], [1])
    with pytest.raises(InputError, match="bins"):
        calibration_error([0.5], [1], bins=0)
