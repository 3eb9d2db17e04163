import numpy as np
import pytest

from handaxe.papers.ctrls.arm_figures import bound_gain, mean_change, mean_figures


def test_fit_figures_by_hand():
    assert bound_gain(np.array([[1.0, 0.0]]), prior=1.0) == pytest.approx(1 - np.log(2), abs=1e-9)
    assert mean_change(np.array([[1.0, 1.0]]), np.array([[3.0, 1.0]])) == pytest.approx(0.5, abs=1e-9)
    assert mean_figures({"a": np.array([1.0, 2.0, 3.0])})["a/low"] == pytest.approx(-0.4841, abs=1e-4)
