import pytest

from handaxe.papers.lhf import lhf


def test_the_study_measures_data_and_returns():
    found = lhf(seeds=2, steps=2, rooms=1)(900)
    assert found["gain"] == pytest.approx(found["return/filtered"] - found["return/all"], abs=1e-9)
    assert found["gain/low"] <= found["gain"] <= found["gain/high"]
    assert found["data/all/noisy"] == 0.5 > found["data/filtered/noisy"]
    assert found["rise/all"] == pytest.approx(found["return/all"] - found["return/all/first"], abs=1e-9)
