import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.barfi.implicit_gradient import implicit_gradient


def number(value):
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize(
    ("rate", "terms", "wanted"), [(1.0, 0, 4), (1.0, 5, 4), (0.5, 0, 2), (0.5, 1, 3), (0.5, 2, 3.5)]
)
def test_the_scalar_problem_matches_its_example(rate, terms, wanted):
    """The slope of -(theta - 3)^2 at 1 is 4; H = -1 and A = 1, so that dJ/dphi = 4."""
    (found,) = implicit_gradient(
        lambda theta: -((theta - 3) ** 2),
        lambda theta, phi: phi[0] - theta,
        number(1.0),
        [number(1.0)],
        rate=rate,
        terms=terms,
    )
    assert float(found) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(5))
def test_a_quadratic_problem_matches_full_matrices_and_a_slow_series(seed):
    """Update B phi - M theta with M symmetric, eigenvalues in (0, 2): H = -M, A = B."""
    maker = torch.Generator().manual_seed(seed)
    root = torch.linalg.qr(torch.randn(3, 3, generator=maker, dtype=torch.float64))[0]
    eigenvalues = 0.2 + 1.6 * torch.rand(3, generator=maker, dtype=torch.float64)
    m = root @ torch.diag(eigenvalues) @ root.T
    b = torch.randn(3, 2, generator=maker, dtype=torch.float64)
    c = torch.randn(3, generator=maker, dtype=torch.float64)
    theta = torch.randn(3, generator=maker, dtype=torch.float64)

    def series(terms):
        return implicit_gradient(
            lambda one: c @ one, lambda one, phi: b @ phi[0] - m @ one, theta, [torch.zeros(2).double()], terms=terms
        )[0]

    slow = torch.zeros(2, dtype=torch.float64)
    for k in range(4):
        slow = slow + c @ torch.linalg.matrix_power(torch.eye(3, dtype=torch.float64) - m, k) @ b
    torch.testing.assert_close(series(3), slow, atol=1e-6, rtol=0)
    torch.testing.assert_close(series(100), c @ torch.linalg.inv(m) @ b, atol=1e-6, rtol=0)


def test_a_parameter_without_effect_has_gradient_zero_and_inputs_stay_as_they_are():
    theta, phi = number([1.0, 2.0]), [number(1.0), number([5.0])]
    found = implicit_gradient(lambda one: one.sum(), lambda one, own: own[0] - one, theta, phi)
    assert [one.tolist() for one in found] == [2.0, [0.0]]
    assert theta.tolist() == [1.0, 2.0] and not theta.requires_grad and not phi[0].requires_grad


def test_invalid_arguments_are_rejected():
    for wrong in ({"terms": -1}, {"rate": 0.0}):
        with pytest.raises(InputError, match="give 0 or more"):
            implicit_gradient(lambda one: one, lambda one, own: own[0] - one, number(1.0), [number(1.0)], **wrong)
    with pytest.raises(InputError, match="theta's shape"):
        implicit_gradient(lambda one: one, lambda one, own: own[0] - one, number(1.0), [number([1.0, 2.0])])
