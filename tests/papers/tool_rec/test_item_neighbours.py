import numpy as np
import pytest
from scipy.sparse import csr_array

from handaxe.core.errors import InputError
from handaxe.papers.tool_rec.item_neighbours import item_similarity, neighbour_scores

HISTORIES = [np.array([0, 1]), np.array([1, 0]), np.array([0, 2])]


def test_similarity_is_that_of_common_users():
    found = item_similarity(HISTORIES, 4, shrink=0.0)
    assert found[0, 1] == pytest.approx(2 / 6**0.5, abs=1e-12)
    assert found[0, 2] == pytest.approx(1 / 3**0.5, abs=1e-12)
    assert found[1, 2] == 0 and (np.diag(found) == 0).all() and (found[3] == 0).all() and (found == found.T).all()
    assert item_similarity(HISTORIES, 4, shrink=1.0)[0, 1] == pytest.approx(2 / (6**0.5 + 1), abs=1e-12)


def test_only_the_largest_neighbours_are_kept():
    found = item_similarity(HISTORIES, 4, shrink=0.0, neighbours=1)
    assert found[0, 1] > 0 and found[0, 2] == 0 and found[2, 0] > 0


def test_scores_weigh_the_last_items_most():
    similar = np.array([[0, 0, 0.4], [0, 0, 0.2], [0.4, 0.2, 0]])
    found = neighbour_scores(similar, [np.array([0, 1]), np.array([], dtype=int)], decay=0.5)
    assert found[0] == pytest.approx([0, 0, 0.4], abs=1e-12) and (found[1] == 0).all()
    rng = np.random.default_rng(0)
    similar = rng.random((6, 6))
    histories = [rng.permutation(6)[: rng.integers(1, 6)] for _ in range(4)]
    slow = [
        [sum(0.9 ** (len(one) - 1 - k) * similar[h, i] for k, h in enumerate(one)) for i in range(6)]
        for one in histories
    ]
    for form in (similar, csr_array(similar)):
        assert neighbour_scores(form, histories, decay=0.9) == pytest.approx(np.array(slow), abs=1e-9)


def test_wrong_arguments_raise():
    for options in ({"shrink": -1.0}, {"neighbours": 0}):
        with pytest.raises(InputError, match="neighbours >= 1"):
            item_similarity(HISTORIES, 4, **options)
    with pytest.raises(InputError, match="1 user or more"):
        item_similarity([], 4)
    with pytest.raises(InputError, match="decay is 0"):
        neighbour_scores(np.eye(2), [np.array([0])], decay=0)
