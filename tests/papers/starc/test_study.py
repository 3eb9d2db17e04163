import pytest

from handaxe.papers.starc import starc


def test_the_study_measures_correlations_with_and_without_canonical_form():
    found = starc(processes=3, pairs=6, states=3, actions=2)(900)
    for prefix in ("", "plain/"):
        gain = found[f"{prefix}spearman"] - found[f"{prefix}spearman/raw"]
        assert found[f"{prefix}gain"] == pytest.approx(gain, abs=1e-9)
        assert found[f"{prefix}gain/low"] <= gain and -1 <= found[f"{prefix}spearman"] <= 1
    assert found["equivalent"] < 1e-6 < found["equivalent/raw"]
    assert starc(processes=3, pairs=6, states=3, actions=2)(900) == found
