import numpy as np
import pytest

from handaxe.papers.rlm_blueprint.search_values import search_advantages, search_targets


def test_each_node_has_one_target_and_turns_of_a_roll_have_none(tree):
    first, second, third = search_targets(tree())
    assert first[:2].tolist() == [0.5, 0.6] and np.isnan(first[2])
    assert np.isnan(second[0]) and second[1] == 0.4 and third.tolist() == [-1.0]


def test_advantages_by_hand(tree):
    """.96 * .5 - .12 = .36; .96 * .6 - .5 = .076; .96 * .4 - .5 = -.116; -.96 - .12 = -1.08; 3 * .36 - 1.08 = 0."""
    first, second, third = search_advantages(tree())
    assert first[:2] == pytest.approx([0.36, 0.076], abs=1e-12) and np.isnan(first[2])
    assert second[1] == pytest.approx(-0.116, abs=1e-12) and third == pytest.approx([-1.08], abs=1e-12)
    assert 3 * first[0] + third[0] == pytest.approx(0.0, abs=1e-12)
