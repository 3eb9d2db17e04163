import pytest

from handaxe.papers.mah_dpo.head_training import HeadPair
from handaxe.papers.mah_dpo.weight_sweep import SHARES, SweepArm, head_sweep_figures

STEPS = [{"0/margin": 9.0, "1/margin": 9.0}, {"0/margin": 1.0, "1/margin": 2.0}]


def test_figures_of_a_seed_by_hand():
    found = {"start": SweepArm(0.3, 15.0), "single": SweepArm(0.1, 5.0)}
    found |= {f"{share:g}": SweepArm(share / 2, 10 * share) for share in SHARES}
    facts = head_sweep_figures(found, [HeadPair(None, 0), HeadPair(None, 1), HeadPair(None, 1)], STEPS)
    assert facts["rise/correct/0-0.25"] == pytest.approx(0.125) and facts["rise/tokens/0-1"] == pytest.approx(10.0)
    assert facts["gain/correct/0.5"] == pytest.approx(0.15) and facts["saved/0"] == pytest.approx(5.0)
    assert facts["gain/start"] == pytest.approx(0.2)
    assert (facts["pairs/correct"], facts["pairs/brief"]) == (1, 2)
    assert (facts["margin/correct"], facts["margin/brief"]) == (1.0, 2.0)
