import numpy as np
import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.papers.knapsack_composer.compare_selections import (  # noqa: E402
    SELECTIONS,
    compare_selections,
    helpful_ratios,
    retrieval_first,
    working_offers,
)
from handaxe.papers.knapsack_composer.tool_shop import Offer, ToolOrder, make_order, single_steps  # noqa: E402
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue  # noqa: E402
from handaxe.worlds.toolbox.world import toolbox  # noqa: E402

CATALOGUE = brief_catalogue()
STEPS = single_steps(toolbox().tasks("test", 60, 0))


def shop(seed, faulty):
    return make_order(CATALOGUE, STEPS, seed=seed, skills=4, tools=2, faulty=faulty)


def test_a_probe_avoids_the_broken_offer_before_a_sound_one():
    entry = CATALOGUE.entries[STEPS[0]["name"]]
    offers = (Offer(entry, 2, "broken"), Offer(entry, 1, "sound"))
    order = ToolOrder((STEPS[0],), np.ones(1), offers, np.ones((2, 1)))
    found = compare_selections(CATALOGUE, [order], budget=2, low=0.2, high=1)
    assert found["online"] == found["greedy"] == [(1.0, 0.5, 2)]
    assert found["retrieval"] == found["unprobed"] == [(0.0, 1.0, 0)]
    assert found["optimum"] == [(1.0, 0.5, 0)]


def test_without_sound_tools_nothing_works_and_probes_buy_nothing():
    order = shop(0, 1.0)
    assert not working_offers(CATALOGUE, order).any()
    found = compare_selections(CATALOGUE, [order], budget=18, low=0.2, high=3)
    assert found["online"][0][:2] == (0, 0) and found["online"][0].probes == len(order.offers)
    assert found["retrieval"][0].value == 0 < found["retrieval"][0].spent


@pytest.mark.parametrize("faulty", [0.0, 0.5])
def test_no_selection_exceeds_budget_or_optimum(faulty):
    orders = [shop(seed, faulty) for seed in range(6)]
    found = compare_selections(CATALOGUE, orders, budget=6, low=0.2, high=3)
    assert set(found) == set(SELECTIONS)
    for name in SELECTIONS:
        for one, best in zip(found[name], found["optimum"]):
            assert one.spent <= 1 and one.value <= best.value
    assert 0 < helpful_ratios(CATALOGUE, orders)[0] < helpful_ratios(CATALOGUE, orders)[1] <= 3


def test_retrieval_first_takes_the_first_of_equal_offers():
    score_IM = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    assert retrieval_first(score_IM, np.array([2.0, 1, 1]), budget=3) == (0, 2)
    assert retrieval_first(score_IM, np.array([2.0, 1, 1]), budget=1) == (2,)
