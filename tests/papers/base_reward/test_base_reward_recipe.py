import pytest

from handaxe.papers.base_reward.base_reward_recipe import _figures, base_reward_recipe
from handaxe.papers.base_reward.recipe_arms import ARMS

pytest.importorskip("PIL")


def test_gains_are_differences_of_equal_seeds():
    columns = {f"image/{arm}": [0.5, 0.75] for arm in ARMS}
    columns |= {"image/recipe": [0.75, 1.0], "image/second": [0.75, 0.5], "image/ensemble": [0.875, 1.0]}
    found = _figures(columns)
    assert found["gain/linear"] == pytest.approx(0.25, abs=1e-9)
    assert found["gain/second"] == pytest.approx(0.25, abs=1e-9)
    assert found["gain/ensemble"] == pytest.approx((0.125 + 0.25) / 2, abs=1e-9)
    assert found["gain/best"] == pytest.approx(0.0625, abs=1e-9)


@pytest.mark.slow
def test_every_arm_has_an_accuracy_on_both_kinds_of_pairs():
    found = base_reward_recipe(seeds=1, images=16, words=16, held_out=16, skill=1)(0)
    assert {f"{kind}/{arm}" for kind in ("image", "words") for arm in ARMS} <= found.keys()
    assert all(0 <= found[f"image/{arm}"] <= 1 for arm in ARMS)
