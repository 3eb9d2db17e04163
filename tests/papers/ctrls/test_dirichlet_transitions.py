import math

import numpy as np
import pytest
import scipy.special
import torch
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.ctrls.dirichlet_transitions import mean_log_likelihood, transition_bound, transition_counts


def test_transition_counts_by_hand():
    count_RK = transition_counts([np.array([0, 1, 1]), np.array([0, 1]), np.array([], int)], 2)
    assert count_RK.tolist() == [[0, 2], [0, 1], [2, 0]]
    with pytest.raises(InputError, match="outside 0 to 1"):
        transition_counts([np.array([0, 2])], 2)


def test_transition_bound_by_hand():
    """One transition, prior 1: evidence 1/2. At the prior E log a = psi(1) - psi(2) = -1 and the divergence is 0."""
    count_RK = np.array([[1.0, 0.0]])
    assert transition_bound(np.array([[1.0, 1.0]]), count_RK) == pytest.approx(-1, abs=1e-9)
    assert transition_bound(np.array([[2.0, 1.0]]), count_RK) == pytest.approx(math.log(0.5), abs=1e-9)


@given(st.integers(0, 20))
def test_transition_bound_matches_torch_and_never_exceeds_the_evidence(seed):
    rng = np.random.default_rng(seed)
    alpha_RK = rng.uniform(0.2, 5, (3, 2))
    count_RK = rng.integers(0, 6, (3, 2)).astype(float)
    slow = 0.0
    evidence = 0.0
    for alpha_K, count_K in zip(alpha_RK, count_RK, strict=True):
        law = torch.distributions.Dirichlet(torch.tensor(alpha_K))
        prior = torch.distributions.Dirichlet(torch.full((2,), 0.5, dtype=torch.float64))
        total = math.fsum(alpha_K)
        for alpha, count in zip(alpha_K, count_K, strict=True):
            slow += count * float(scipy.special.psi(alpha) - scipy.special.psi(total))
        slow -= float(torch.distributions.kl_divergence(law, prior))
        seen = [0, 0]
        for k in [0] * int(count_K[0]) + [1] * int(count_K[1]):
            evidence += math.log((0.5 + seen[k]) / (1 + sum(seen)))
            seen[k] += 1
    assert transition_bound(alpha_RK, count_RK, prior=0.5) == pytest.approx(slow, abs=1e-6)
    assert slow <= evidence + 1e-9
    assert transition_bound(0.5 + count_RK, count_RK, prior=0.5) == pytest.approx(evidence, abs=1e-6)


def test_mean_log_likelihood_by_hand():
    found = mean_log_likelihood(np.array([[2.0, 1.0]]), np.array([[1.0, 1.0]]))
    assert found == pytest.approx((math.log(2 / 3) + math.log(1 / 3)) / 2, abs=1e-9)
    assert math.isnan(mean_log_likelihood(np.ones((1, 2)), np.zeros((1, 2))))


def test_concentrations_must_be_positive_and_shapes_equal():
    with pytest.raises(InputError, match="above 0"):
        transition_bound(np.array([[0.0, 1.0]]), np.ones((1, 2)))
    with pytest.raises(InputError, match="above 0"):
        mean_log_likelihood(np.ones(2), np.ones(2))
    with pytest.raises(InputError, match="equal shapes"):
        transition_bound(np.ones((2, 2)), np.ones((1, 2)))
