import pytest

from handaxe.papers.adas import adas
from handaxe.papers.adas.agent_search import SEEDS

pytest.importorskip("reasoning_gym")


def test_the_study_tests_the_chosen_agents():
    found = adas(seeds=2, generations=2, valid=6, test=6)(7)
    assert found["gain/seeds"] == pytest.approx(found["adas/test"] - found["seeds/test"])
    assert found["gain_other/seeds"] == pytest.approx(found["adas/other"] - found["seeds/other"])
    assert found["adas/valid"] >= found["seeds/valid"]
    assert all(0 <= found[f"seeds/{name}"] <= 1 for name in SEEDS)
    assert found["optimism"] == pytest.approx(found["adas/valid"] - found["adas/test"])
