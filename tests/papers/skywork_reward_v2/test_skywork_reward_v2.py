import pytest

from handaxe.papers.skywork_reward_v2 import MODELS, skywork_reward_v2


@pytest.mark.slow
def test_every_part_has_a_model():
    found = skywork_reward_v2(seeds=1, tasks=16, samples=5, held_out=5, verified=4, first=4, rounds=1)(2)
    assert {f"pair/{name}" for name in MODELS} <= found.keys()
    assert found["wrong/clean"] == found["wrong/gold"] == 0 < found["wrong/raw"]
    assert found["count/gold"] == 4 < found["count/silver"] < found["count/curated"]
    assert found["gain/raw"] == pytest.approx(found["pair/curated"] - found["pair/raw"], abs=1e-9)
