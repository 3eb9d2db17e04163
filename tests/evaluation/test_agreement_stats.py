"""Agreement statistics: by hand, against scikit-learn, and intervals that resample tasks."""

import numpy as np
import pytest

from handaxe.evaluation.agreement_stats import MEASURES, RESAMPLES, agreement_stats, resampled_figure
from handaxe.ops.seeds import generator


def test_the_docstring_example():
    found = agreement_stats([0.9, 0.6, 0.2], [True, False, False], ["a", "b", "c"])
    want = {"accuracy": 2 / 3, "precision": 0.5, "recall": 1, "f1": 2 / 3, "constant_f1": 0.5, "auroc": 1, "kappa": 0.4}
    assert {name: one.value for name, one in found.items()} == pytest.approx(want)
    assert list(found) == list(MEASURES) and all(one.low <= one.value <= one.high for one in found.values())


def test_it_equals_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    label = rng.random(200) < 0.3
    chance = np.round(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1), 2)  # with ties
    found = agreement_stats(chance, label, [str(k // 4) for k in range(200)], resamples=10)
    yes = chance > 0.5
    want = {
        "accuracy": metrics.accuracy_score(label, yes),
        "precision": metrics.precision_score(label, yes),
        "recall": metrics.recall_score(label, yes),
        "f1": metrics.f1_score(label, yes),
        "constant_f1": metrics.f1_score(label, np.ones(200, bool)),
        "auroc": metrics.roc_auc_score(label, chance),
        "kappa": metrics.cohen_kappa_score(label, yes),
    }
    assert {name: one.value for name, one in found.items()} == pytest.approx(want)


@pytest.mark.slow
def test_intervals_resample_tasks_and_not_questions():
    """Forty equal questions of each of four tasks tell no more than one of each."""
    label = [True, True, False, True]
    chance = [0.9, 0.8, 0.7, 0.6]
    task = list("abcd")
    one = agreement_stats(chance, label, task)["accuracy"]
    many = agreement_stats(np.repeat(chance, 40), np.repeat(label, 40), np.repeat(task, 40))["accuracy"]
    assert many.value == one.value and many.high - many.low > 0.5
    alone = agreement_stats(np.repeat(chance, 40), np.repeat(label, 40), [str(k) for k in range(160)])["accuracy"]
    assert alone.high - alone.low < 0.2


def test_figures_that_are_not_defined_are_nan():
    assert np.isnan(agreement_stats([0.9], [True], ["a"])["auroc"].value)
    assert np.isnan(agreement_stats([0.1], [True], ["a"])["precision"].value)
    assert all(np.isnan(one.value) for one in agreement_stats([], [], []).values())


def test_resampled_units_give_the_quantiles_of_a_loop():
    """The mean of 0, 0, 1: a resample of three has 0, 1/3, 2/3 or 1."""
    unit_N = np.array([0.0, 0.0, 1.0])
    found = resampled_figure(lambda own: unit_N[own].mean(), 3, salt="units")
    rng, loop = generator("units", 3), []
    for draw in rng.integers(3, size=(RESAMPLES, 3)):
        loop.append(sum(unit_N[n] for n in draw) / 3)
    assert found.value == pytest.approx(1 / 3)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(loop, (0.025, 0.975)))) == (0, 1)
    assert resampled_figure(lambda own: 1.0, 3, salt="units") == (1, 1, 1)
