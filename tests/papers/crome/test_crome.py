import pytest

from handaxe.papers.crome import MODELS, crome
from handaxe.papers.crome.styled_answers import STYLES


def test_every_model_is_measured_in_every_style():
    found = crome(seeds=1, tasks=4, samples=5, held_out=5, presented=20)(2)
    for style in STYLES:
        for name in MODELS:
            assert f"pair/{style}/{name}" in found
    assert found["pairs/preferences"] > 0
    gain = found["pair/reversed/crome"] - found["pair/reversed/vanilla"]
    assert found["gain/reversed/vanilla"] == pytest.approx(gain, abs=1e-9)
    assert found["gap_fall"] == pytest.approx(abs(found["gap/vanilla"]) - abs(found["gap/crome"]), abs=1e-9)
