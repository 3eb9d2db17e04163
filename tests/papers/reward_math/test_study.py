import numpy as np
import pytest

from handaxe.papers.reward_math import CHOICES, _drop, _figures


def judges(*rows):
    names = [f"{kind}-{n}" for n, kind in enumerate(["orm", "prm", "prm"])]
    extra = dict.fromkeys(CHOICES, 0.25)
    keys = ("many", "mrr", "one", "bon", "drop")
    return {
        name: {**dict(zip(keys, row, strict=True)), **(extra if name.startswith("prm") else {})}
        for name, row in zip(names, rows, strict=True)
    }


def test_figures_by_hand():
    """many .1, .5, .9 and bon .4, .6, .8 lie on a line; one 0, 1, 0 is uncorrelated with bon."""
    found = _figures(judges((0.1, 0.2, 0.0, 0.4, 0.1), (0.5, 0.6, 1.0, 0.6, 0.0), (0.9, 0.95, 0.0, 0.8, 0.0)))
    assert found["r2/many"] == pytest.approx(1.0) and found["r2/one"] == pytest.approx(0.0)
    assert found["r2/gain"] == pytest.approx(1.0) and found["r2/gain/low"] <= 1.0
    assert found["gap"] == pytest.approx(1 / 3 - 0.5) and found["many/min"] == 0.25
    assert found["bon/prm-2"] == 0.8
    drop = np.corrcoef([0.1, 0.5, 0.9], [0.1, 0.0, 0.0])[0, 1] ** 2
    assert found["r2/drop"] == pytest.approx(drop)


def test_a_drop_is_the_fall_after_the_maximum():
    assert _drop(np.array([0.4, 0.7, 0.5])) == pytest.approx(0.2) and _drop(np.array([0.4, 0.5])) == 0.0
