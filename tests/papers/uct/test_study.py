import pytest

from handaxe.papers.uct import uct

pytest.importorskip("reasoning_gym")


def test_the_study_compares_agents_on_equal_streams():
    found = uct(seeds=2, tasks=12, most=600)(7)
    for name in ("tests_only", "alone", "no_consolidation"):
        assert found[f"gain/{name}"] == pytest.approx(found["uct/accuracy"] - found[f"{name}/accuracy"])
        assert 0 <= found[f"{name}/accuracy"] + found[f"{name}/wrong"] <= 1
    assert found["alone/tools"] == found["alone/reuse"] == 0 < found["uct/tools"]
    assert found["uct/tried"] <= found["alone/tried"] <= 600
    assert found["fewer/wrong"] == pytest.approx(found["tests_only/wrong"] - found["uct/wrong"])
