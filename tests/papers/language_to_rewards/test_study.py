import pytest

from handaxe.models.load import load
from handaxe.papers.language_to_rewards import language_to_rewards


def test_the_study_compares_the_forms_on_equal_tasks(monkeypatch):
    monkeypatch.setattr("handaxe.papers.language_to_rewards.start_policy", lambda world, seed: load("tiny"))
    found = language_to_rewards(tasks=1, seeds=2)(900)
    for form in ("direct", "primitives"):
        gain = found["described"] - found[form]
        assert found[f"gain/{form}"] == pytest.approx(gain, abs=1e-9)
        assert found[f"gain/{form}/low"] <= gain <= found[f"gain/{form}/high"]
    assert found["expert/rewards"] == 1.0 and 0 <= found["expert/primitives"] <= 1
