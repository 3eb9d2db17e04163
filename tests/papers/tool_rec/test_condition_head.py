from math import exp, log

import numpy as np
import pytest
from scipy.optimize import check_grad

from handaxe.core.errors import InputError
from handaxe.papers.tool_rec.condition_head import condition_scores, fit_condition, fit_scale


def test_scale_gives_the_observed_frequencies():
    scores = np.array([[1.0, 0.0]] * 4)
    assert fit_scale(scores, np.array([0, 0, 0, 1])) == pytest.approx(log(3), abs=1e-4)


def test_encoder_of_one_case():
    found = fit_condition(np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.eye(2), np.array([0]), l2=1.0)
    w = found[0, 0]
    assert w == pytest.approx(0.3374, abs=1e-4) and w == pytest.approx(1 / (1 + exp(2 * w)), abs=1e-4)
    assert found[0, 1] == pytest.approx(-w, abs=1e-5) and (found[1] == 0).all()


def test_scores_are_the_bilinear_term_of_a_loop():
    rng = np.random.default_rng(0)
    logits = rng.random((2, 4))
    profile = rng.random((2, 3))
    share = rng.random((4, 3))
    weight = rng.random((3, 3))
    slow = [
        [
            logits[n, i] + sum(profile[n, f] * weight[f, g] * share[i, g] for f in range(3) for g in range(3))
            for i in range(4)
        ]
        for n in range(2)
    ]
    assert condition_scores(logits, profile, share, weight) == pytest.approx(np.array(slow), abs=1e-9)


def test_fitted_encoder_has_the_least_loss():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(30, 6))
    profile = rng.dirichlet(np.ones(3), size=30)
    share = rng.dirichlet(np.ones(3), size=6)
    target = rng.integers(0, 6, size=30)
    logits[np.arange(30), (target + 1) % 6] = -np.inf

    def loss(flat):
        total = 0.0
        for n in range(30):
            z = condition_scores(logits, profile, share, flat.reshape(3, 3))[n]
            total += log(sum(exp(one) for one in z)) - z[target[n]]
        return total / 30 + 0.05 * float(flat @ flat)

    best = fit_condition(logits, profile, share, target, l2=0.1, steps=200).ravel()
    assert np.abs(check_grad(loss, lambda flat: np.zeros(9), best)) < 1e-3
    assert loss(best) < loss(np.zeros(9))


def test_wrong_arguments_raise():
    blocked = np.array([[-np.inf, 0.0]])
    with pytest.raises(InputError, match="finite score"):
        fit_scale(blocked, np.array([0]))
    with pytest.raises(InputError, match="1 case or more"):
        fit_condition(np.zeros((0, 2)), np.zeros((0, 2)), np.eye(2), np.array([], dtype=int))
    for options in ({"l2": 0.0}, {"steps": 0}):
        with pytest.raises(InputError, match="1 step or more"):
            fit_condition(np.zeros((1, 2)), np.ones((1, 2)), np.eye(2), np.array([0]), **options)
