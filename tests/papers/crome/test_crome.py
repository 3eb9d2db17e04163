import pytest

from handaxe.papers.crome import MODELS, crome
from handaxe.papers.crome.styled_answers import STYLES


@pytest.mark.slow
def test_every_model_is_measured_in_every_style():
    found = crome(seeds=1, tasks=4, samples=5, held_out=5, presented=20)(2)
    for style in STYLES:
        for name in MODELS:
            assert f"pair/{style}/{name}" in found
    assert found["pairs/preferences"] > 0
    gain = found["pair/reversed/crome"] - found["pair/reversed/vanilla"]
    assert found["gain/reversed/vanilla"] == pytest.approx(gain, abs=1e-9)
    assert found["gap_fall"] == pytest.approx(abs(found["gap/vanilla"]) - abs(found["gap/crome"]), abs=1e-9)


@pytest.mark.slow
def test_a_seed_counts_once_in_the_figure_of_a_random_answer():
    """Two seeds: the 95 % interval is mean +- 12.706 |a - b| / 2, by Student's t with one degree of freedom."""
    small = {"tasks": 3, "samples": 4, "held_out": 5, "presented": 8}
    a, b = (crome(seeds=1, **small)(seed)["best/random"] for seed in (2, 3))
    found = crome(seeds=2, **small)(2)
    assert a != b
    assert found["best/random"] == pytest.approx((a + b) / 2, abs=1e-9)
    assert found["best/random/high"] - found["best/random"] == pytest.approx(12.7062 * abs(a - b) / 2, rel=1e-4)
