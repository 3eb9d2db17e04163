import numpy as np
import pytest

from handaxe.papers.brme.brme_best_of import _figures_of, brme_best_of


def test_over_optimisation_is_the_fall_from_the_best_number_of_rollouts():
    """Scores 0, 1, 2 of truths 0, 1, 0: the curve is 1/3, 1/3, 0."""
    found = _figures_of({"mixed": [np.array([0.0, 1.0, 2.0])]}, [np.array([0.0, 1.0, 0.0])])
    assert found["fall/mixed"] == pytest.approx(1 / 3, abs=1e-9) and found["best/mixed"] == 0
    assert found["pair/mixed"] == 0.5 and found["random"] == pytest.approx(1 / 3, abs=1e-9)


def test_every_score_has_figures():
    found = brme_best_of(seeds=1, tasks=2, samples=3, held_out=2, most=3, epochs=1)(7)
    for name in ("first", "nominal", "worst", "mixed"):
        assert 0 <= found[f"best/{name}"] <= 1 and found[f"fall/{name}"] >= 0
    gain = found["best/mixed"] - found["best/nominal"]
    assert found["gain/mixed/nominal"] == pytest.approx(gain, abs=1e-9)
    assert -1 <= found["spread"] <= 1
