import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from handaxe.core.errors import InputError
from handaxe.papers.swe_rebench.run_statistics import run_statistics


def test_statistics_equal_numbers_by_hand():
    resolved = np.zeros((5, 50))
    for run, count in enumerate((15, 16, 14, 15, 15)):  # rates .30 .32 .28 .30 .30
        resolved[run, :count] = 1
    found = run_statistics(resolved)
    assert found["mean"] == pytest.approx(0.30, abs=1e-12)
    assert found["sem"] == pytest.approx((0.0008 / 4 / 5) ** 0.5, abs=1e-12)
    assert found["sem"] == pytest.approx(0.0063, abs=5e-5)
    assert found["pass"] == pytest.approx(0.32, abs=1e-12)


@settings(max_examples=40)
@given(arrays(np.int64, st.tuples(st.integers(2, 4), st.integers(1, 5)), elements=st.integers(0, 1)))
def test_statistics_equal_a_loop(resolved_RN):
    runs, tasks = resolved_RN.shape
    rates = [sum(row) / tasks for row in resolved_RN]
    mean = sum(rates) / runs
    variance = sum((one - mean) ** 2 for one in rates) / (runs - 1)
    ever = sum(any(resolved_RN[run, task] for run in range(runs)) for task in range(tasks)) / tasks
    found = run_statistics(resolved_RN)
    assert found == pytest.approx({"mean": mean, "sem": (variance / runs) ** 0.5, "pass": ever}, abs=1e-9)
    assert found["pass"] >= found["mean"] - 1e-12


@pytest.mark.parametrize("values", [[[1, 0]], np.zeros((2, 0)), [[0.5], [1]], [1, 0]])
def test_other_values_raise(values):
    with pytest.raises(InputError, match="two runs or more"):
        run_statistics(np.array(values))
