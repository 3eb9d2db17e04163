import pytest

from handaxe.papers.skywork_reward_v2 import MODELS, _figures, skywork_reward_v2


def test_gains_are_differences_of_equal_seeds():
    columns = {f"pair/{name}": [0.5, 0.75] for name in MODELS} | {"pair/curated": [0.75, 0.75]}
    assert _figures(columns)["gain/raw"] == pytest.approx(0.125, abs=1e-9)


def test_every_part_has_a_model():
    found = skywork_reward_v2(seeds=1, tasks=16, samples=5, held_out=5, verified=4, first=4, rounds=1)(2)
    assert {f"pair/{name}" for name in MODELS} <= found.keys()
    assert found["wrong/clean"] == found["wrong/gold"] == 0 < found["wrong/raw"]
    assert found["count/gold"] == 4 < found["count/silver"] < found["count/curated"]
