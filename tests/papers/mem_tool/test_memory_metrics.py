from math import isnan

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.mem_tool.memory_metrics import peak_turns, removal_ratio, residual_tools, window_ratio

ADDED, REMOVED = (5, 5, 5, 0), (0, 4, 5, 3)


def slow_window(added, removed):
    total, count = 0.0, 0
    for t in range(2, len(added)):
        a, r = added[t - 2] + added[t - 1] + added[t], removed[t - 2] + removed[t - 1] + removed[t]
        if a:
            total, count = total + r / a, count + 1
    return total / count


def test_ratios_equal_the_worked_example():
    assert removal_ratio(ADDED, REMOVED) == pytest.approx(0.8, abs=1e-9)
    assert window_ratio(ADDED, REMOVED) == pytest.approx(0.9, abs=1e-9)


def test_window_ratio_equals_a_slow_loop():
    rng = np.random.default_rng(900)
    added, removed = rng.integers(0, 6, 40).tolist(), rng.integers(0, 6, 40).tolist()
    assert window_ratio(added, removed) == pytest.approx(slow_window(added, removed), abs=1e-9)
    assert removal_ratio(added, removed) == pytest.approx(sum(removed) / sum(added), abs=1e-9)


def test_windows_without_added_tools_are_left_out():
    assert window_ratio((3, 0, 0, 0, 0), (0, 3, 0, 0, 0)) == pytest.approx(1.0, abs=1e-9)
    assert isnan(window_ratio((1, 1), (0, 0))) and isnan(removal_ratio((0,), (0,)))


def test_residual_is_the_mean_after_peaks():
    held = (5, 9, 4, 4, 8, 8, 2, 3, 3)
    assert peak_turns(held) == [1, 4]
    assert residual_tools(held) == pytest.approx(((4 + 4 + 8) / 3 + (8 + 2 + 3) / 3) / 2, abs=1e-9)
    assert isnan(residual_tools((1, 2, 3)))


def test_lists_of_different_lengths_raise():
    with pytest.raises(InputError, match="as many counts"):
        removal_ratio((1,), ())
