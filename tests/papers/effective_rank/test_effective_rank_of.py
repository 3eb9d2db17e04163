import math

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.effective_rank.effective_rank_of import effective_rank, matrix_rank


@pytest.mark.parametrize(("values", "rank"), [((1, 1), 2.0), ((3, 1), 1.7548), ((2, 1, 1), 2.8284), ((5,), 1.0)])
def test_effective_rank_of_matches_its_example(values, rank):
    assert float(matrix_rank(torch.diag(torch.tensor(values, dtype=torch.float32)))) == pytest.approx(rank, abs=1e-4)


def slow(states, stride, most):
    """By numpy, with eigenvalues of the Gram matrix in the place of singular values."""
    out, last = [], 1.0
    for at in range(len(states)):
        if at % stride == 0 or at == len(states) - 1:
            part = states[max(0, at + 1 - most) : at + 1]
            part = np.array([row - sum(part) / len(part) for row in part])
            squares = np.clip(np.linalg.eigvalsh(part @ part.T), 0, None)
            s = np.sqrt(squares[squares > 1e-10 * squares.max()])
            last = math.exp(-sum(p * math.log(p) for p in s / s.sum())) if len(part) > 1 else 1.0
        out.append(last)
    return out


@pytest.mark.parametrize(("stride", "most"), [(1, 512), (3, 512), (2, 4), (40, 512)])
def test_ranks_of_prefixes_match_a_slow_loop(stride, most):
    states = np.random.default_rng(stride).normal(size=(11, 5))
    found = effective_rank(stride=stride, most=most)(torch.from_numpy(states))
    assert found.tolist() == pytest.approx(slow(states, stride, most), rel=1e-6)
    assert (found >= 1 - 1e-9).all() and (found <= 5 + 1e-9).all()


def test_zero_and_empty_states_and_invalid_arguments():
    assert effective_rank()(torch.zeros(0, 4)).shape == (0,)
    assert effective_rank(stride=1)(torch.zeros(3, 4)).tolist() == [1.0, 1.0, 1.0]
    assert effective_rank(stride=1)(torch.full((3, 4), 0.1)).tolist() == pytest.approx([1.0, 1.0, 1.0])
    for wrong in ({"stride": 0}, {"most": 0}):
        with pytest.raises(InputError, match="1 or more"):
            effective_rank(**wrong)


def test_a_constant_added_to_all_states_changes_no_rank():
    states = torch.from_numpy(np.random.default_rng(1).normal(size=(9, 4)))
    measure = effective_rank(stride=2)
    assert measure(states + 50.0).tolist() == pytest.approx(measure(states).tolist(), rel=1e-6)
    # Two states differ in one direction alone.
    assert measure(states[:2]).tolist() == pytest.approx([1.0, 1.0])
