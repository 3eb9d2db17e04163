import pytest

from handaxe.papers.tps_bench import _differences


def test_differences_equal_numbers_by_hand():
    figures = {"sequential/time": 6.0, "parallel/time": 4.0, "sequential/done": 1.0, "parallel/done": 2 / 3}
    found = _differences(figures, "x/", "parallel", "sequential")
    assert found == {"x/saved": pytest.approx(1 / 3, abs=1e-9), "x/lost": pytest.approx(1 / 3, abs=1e-9)}
