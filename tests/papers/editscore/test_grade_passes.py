import numpy as np
import pytest

from handaxe.ops.stats import column_figures
from handaxe.papers.editscore.grade_passes import GAINS, _mean, _ties, coarse, grade_passes


def test_coarse_grades_by_hand():
    grader = coarse(lambda questions, number: ["[20, 15]", "[18]", "x"], best=25, few=5)
    assert grader([], 0) == ["[4, 3]", "[4]", "[]"]


def test_the_mean_leaves_out_unreadable_passes():
    found = _mean(np.array([[4.0, np.nan], [2.0, 4.0], [np.nan, np.nan]]))
    assert found.tolist() == [4.0, 3.0, 5.0]


def test_ties_are_pairs_of_unequal_truth_with_equal_scores():
    score_N1 = np.array([[1.0], [1.0], [1.0], [2.0]])
    assert _ties(score_N1, np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(2 / 4)


def test_gains_are_differences_of_equal_seeds():
    columns = {"pair/1": [0.5, 0.6], "pair/4": [0.6, 0.8], "pair/greedy": [0.6, 0.8]}
    found = column_figures(columns | {"ties/fine": [0.1, 0.1], "ties/coarse": [0.3, 0.3]}, GAINS)
    assert found["gain/4/1"] == pytest.approx(0.15) and found["gain/4/greedy"] == 0
    assert found["fewer_ties"] == pytest.approx(0.2)


def test_every_figure_of_a_short_study():
    pytest.importorskip("PIL")
    found = grade_passes(seeds=1, edits=12, held_out=8, passes=4, steps=3)(5)
    assert found["read"] == 1 and found["ties/fine"] <= found["ties/coarse"]
    assert all(0 <= found[f"pair/{name}"] <= 1 for name in ("1", "4", "greedy"))
