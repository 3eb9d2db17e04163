import pytest

from handaxe.core.records import Pair
from handaxe.papers.tree_preferences.tree_preferences_budget import _pair_figures, tree_preferences_budget
from handaxe.testing.make_records import make_trajectory


def test_shared_and_distinct_tokens_by_hand():
    """Prompts of 2 tokens; equal sides of 5 tokens share 3 beyond the prompt, and an annotator reads 5."""
    one = make_trajectory(layouts=["Utppp"])
    found = _pair_figures([Pair(one, one)])
    assert found == {"shared": 3, "distinct": 5, "comparisons": 1}


@pytest.mark.slow
def test_both_topologies_are_measured_at_every_budget():
    found = tree_preferences_budget(seeds=1, budgets=(2, 4), tasks=8, held_out=5, samples=4, presented=4)(1)
    assert {f"pair/{name}/{n}" for name in ("tree", "chain") for n in (2, 4)} <= found.keys()
    assert found["shared/tree"] > found["shared/chain"]
    assert found["gain/4"] == pytest.approx(found["pair/tree/4"] - found["pair/chain/4"], abs=1e-9)
