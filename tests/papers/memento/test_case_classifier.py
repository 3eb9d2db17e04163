import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.memento.case_classifier import CaseClassifier, Retrieval, case_loss


def test_loss_by_hand():
    logit = torch.tensor([np.log(0.8 / 0.2)] * 2, dtype=torch.float64)
    assert case_loss(logit[:1], torch.ones(1, dtype=torch.float64)).item() == pytest.approx(0.22314355)
    assert case_loss(logit[:1], torch.zeros(1, dtype=torch.float64)).item() == pytest.approx(1.60943791)
    both = torch.tensor([1.0, 0.0], dtype=torch.float64)
    assert case_loss(logit, both).item() == pytest.approx((0.22314355 + 1.60943791) / 2)


def test_loss_equals_a_loop():
    rng = np.random.default_rng(0)
    logit_N, success_N = rng.normal(size=7), rng.integers(0, 2, size=7)
    total = 0.0
    for logit, success in zip(logit_N, success_N):
        q = 1 / (1 + np.exp(-logit))
        total -= success * np.log(q) + (1 - success) * np.log(1 - q)
    found = case_loss(torch.from_numpy(logit_N), torch.from_numpy(success_N.astype(np.float64)))
    assert found.item() == pytest.approx(total / 7, abs=1e-9)


def fitted(seed=0):
    """Success if question and case have the same code; the number of the person means nothing."""
    rng = np.random.default_rng(1)
    code_CD, person_PD = np.eye(4, 12), np.eye(8, 12, k=4)
    question_AD = np.array([code_CD[n % 4] + person_PD[rng.integers(8)] for n in range(32)])
    case_BD = np.array([code_CD[n % 4] + person_PD[rng.integers(8)] for n in range(32)])
    rows = [Retrieval(a, b, float(a % 4 == b % 4)) for a in range(32) for b in rng.permutation(32)[:8].tolist()]
    net = CaseClassifier(12, epochs=40, seed=seed)
    return net, question_AD, case_BD, net.fit(question_AD, case_BD, rows)


def test_the_classifier_learns_which_part_of_a_case_matters():
    net, question_AD, case_BD, loss = fitted()
    assert loss < 0.3
    fresh = question_AD[5] * 0 + np.eye(4, 12)[1] + np.eye(8, 12, k=4)[3]
    q_B = net.values(fresh, case_BD)
    same = np.arange(32) % 4 == 1
    assert q_B.shape == (32,) and q_B[same].min() > q_B[~same].max()


def test_equal_seeds_give_equal_networks_and_other_draws_stay():
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    one, other = fitted(), fitted()
    assert torch.rand(1) == before
    assert np.array_equal(one[0].values(one[1][0], one[2]), other[0].values(other[1][0], other[2]))
    with pytest.raises(InputError, match="retrievals"):
        one[0].fit(one[1], one[2], [])
