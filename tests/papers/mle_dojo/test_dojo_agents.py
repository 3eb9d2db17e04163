import numpy as np
import pytest

from handaxe.papers.mle_dojo.dojo_agents import AGENTS, _gains

pytest.importorskip("sklearn")


def test_gains_are_paired_by_hand():
    rows = {"draws": [0.2, 0.4], "draws_valid": [0, 0], "improves": [0.5, 0.9], "improves_valid": [0.6, 0.8]}
    curves = {name: np.repeat(np.array(last)[:, None], 6, axis=1) for name, last in rows.items()}
    curves["improves"][:, 4] = [0.1, 0.7]
    found = _gains(curves)
    assert set(curves) == set(AGENTS)
    assert found["gain/steps"] == pytest.approx(0.3) and found["gain/improving"] == pytest.approx(0.4)
    assert found["gain/validation"] == pytest.approx(0.0, abs=1e-9)
    assert found["gain/steps/low"] < 0.3 < found["gain/steps/high"]
