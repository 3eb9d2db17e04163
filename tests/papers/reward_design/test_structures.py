import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.reward_design.structures import leaf_basis, sparse_basis


def test_a_sparse_basis_spans_the_rewards_of_its_states():
    basis_KW = sparse_basis((3, 2), [2, 0])
    assert (basis_KW @ [1, 2, 3, 4]).reshape(3, 2).tolist() == [[1, 2], [0, 0], [3, 4]]


def test_a_leaf_basis_ties_the_rewards_of_a_leaf():
    basis_KW = leaf_basis(np.array([1, 0, 1, -1]), 2)
    assert (basis_KW @ [1, 2, 3, 4]).reshape(4, 2).tolist() == [[3, 4], [1, 2], [3, 4], [0, 0]]


def test_unknown_states_and_missing_leaves_are_rejected():
    with pytest.raises(InputError, match="0 to 2"):
        sparse_basis((3, 2), [3])
    for leaves in ([0, 2], [-1, -1]):
        with pytest.raises(InputError, match="every number"):
            leaf_basis(np.array(leaves), 2)
