import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_tables import GalleryChart, make_table
from handaxe.papers.hai_chart.compare_charts import ARMS, SEARCHES, compare_hints, compare_searches
from handaxe.papers.hai_chart.composite_reward import ChartReward

rng = np.random.default_rng(0)
NUMBERS = {name: rng.normal(size=20) for name in ("a", "b", "c")}
GALLERY = (GalleryChart("point", "b", "none", "c"), GalleryChart("bar", "k", "sum", "a"))
KINDS = {"k": "categorical", **dict.fromkeys(NUMBERS, "numerical")}
REWARD = ChartReward(make_table("drawn", {"k": ["u", "v"] * 10, **NUMBERS}, KINDS, GALLERY), np.linspace(-1, 1, 18))


def test_the_best_reward_never_falls_with_the_budget_and_is_at_most_1():
    found = compare_searches([REWARD], seeds=[0, 1], budgets=[1, 10, 60])
    for name in SEARCHES:
        assert (found[f"{name}/1"] <= found[f"{name}/10"]).all() and (found[f"{name}/10"] <= found[f"{name}/60"]).all()
        assert (found[f"{name}/60"] <= 1).all() and found[f"{name}/top"].shape == (2,)
        assert ((found[f"{name}/top"] > 0) & (found[f"{name}/top"] <= 1)).all()
        assert ((found[f"{name}/distinct"] > 0) & (found[f"{name}/distinct"] <= 1)).all()


def test_hits_of_every_arm():
    found = compare_hints([REWARD], seeds=[0, 1], rounds=2, evaluations=15, k=4)
    for name in ARMS:
        assert found[name].shape == (2,) and (found[name] <= found[f"{name}/10"]).all()
    assert (found["coverage/accepted"] > 0).all() and (found["none/accepted"] == 0).all()


@pytest.mark.parametrize("budgets", [[], [0, 5], [5, 5], [9, 5]])
def test_bad_budgets_are_an_input_error(budgets):
    with pytest.raises(InputError, match="ascending"):
        compare_searches([REWARD], seeds=[0], budgets=budgets)
