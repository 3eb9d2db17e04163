import numpy as np
import pytest

from handaxe.papers.auto_tool.graph_stream import StreamRun
from handaxe.papers.auto_tool.saving_figures import saving_figures


def run(right, calls, tokens, inertial, exact):
    return StreamRun(*(np.array(one, np.float64) for one in (right, calls, tokens, inertial, exact)))


def test_figures_by_hand():
    policy = run([1, 1], [10, 10], [100, 100], [0, 0], [0, 0])
    ours = run([1, 0], [9, 7], [80, 60], [1, 3], [1, 2])
    found = saving_figures([{"policy": policy, "auto_tool": ours}] * 2)
    assert found["auto_tool/inertial"] == pytest.approx(0.2) and found["auto_tool/exact"] == pytest.approx(0.75)
    assert found["fewer_calls"] == pytest.approx(0.2) and found["late/fewer_calls"] == pytest.approx(0.3)
    assert found["fewer_tokens"] == pytest.approx(0.3) and found["gain/policy"] == pytest.approx(-0.5)
    assert "policy/exact" not in found and found["policy/inertial"] == 0
