import pytest

from handaxe.papers.yunjue import yunjue

pytest.importorskip("reasoning_gym")


def test_the_study_compares_absorptions_and_starts():
    found = yunjue(seeds=2, tasks=16, second=6, batch=8, most=600)(7)
    assert found["universal/tools"] <= found["one/tools"] <= found["all/tools"] and found["none/tools"] == 0
    assert found["fewer/all"] == pytest.approx(found["all/tools"] - found["universal/tools"])
    assert found["fall/egl"] == pytest.approx(found["universal/egl_first"] - found["universal/egl_second"])
    for domain in ("near", "far"):
        assert found[f"warm/{domain}"] == pytest.approx(found[f"{domain}/cold"] - found[f"{domain}/warm"])
    mean = (found["all/egl_first"] + found["all/egl_second"]) / 2
    assert mean == pytest.approx(1000 * found["all/tools"] / 16)
