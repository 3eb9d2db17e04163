import pytest

from handaxe.papers.starc import starc


def test_the_study_measures_correlations_of_all_distances():
    found = starc(processes=3, pairs=6, states=3, actions=2)(900)
    for prefix in ("", "plain/"):
        for other in ("raw", "epic", "dard"):
            gain = found[f"{prefix}spearman"] - found[f"{prefix}spearman/{other}"]
            assert found[f"{prefix}gain/{other}"] == pytest.approx(gain, abs=1e-9)
            assert found[f"{prefix}gain/{other}/low"] <= gain and -1 <= found[f"{prefix}spearman/{other}"] <= 1
    assert found["equivalent"] < 1e-6 < min(found[f"equivalent/{other}"] for other in ("raw", "epic", "dard"))
    assert starc(processes=3, pairs=6, states=3, actions=2)(900) == found
