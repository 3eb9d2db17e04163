import numpy as np
import pytest

from handaxe.papers import red_team as folder
from handaxe.papers.red_team import red_team


def words(texts):
    """Counts of letters, as unit vectors."""
    counts = np.array([[one.lower().count(chr(97 + k)) + 1e-3 for k in range(26)] for one in texts])
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_the_study_compares_generators_and_detectors(monkeypatch):
    monkeypatch.setattr(folder, "embed", words)
    found = red_team(targets=3, queries=12)(900)
    for name in ("random", "fixed"):
        assert found[f"rate/gain/{name}"] == pytest.approx(found["rate/guided"] - found[f"rate/{name}"], abs=1e-9)
    for name in ("pattern", "similarity", "judge"):
        gain = found["accuracy/hybrid"] - found[f"accuracy/{name}"]
        assert found[f"accuracy/gain/{name}"] == pytest.approx(gain, abs=1e-9)
    assert 0 <= found["novel"] <= 12 and found["findings/high"] <= found["findings"]
