import pytest

from handaxe.core.errors import InputError

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.papers.knapsack_composer.tool_shop import (  # noqa: E402
    Offer,
    call_offer,
    make_order,
    probe_offer,
    single_steps,
)
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue  # noqa: E402
from handaxe.worlds.toolbox.world import toolbox  # noqa: E402

CATALOGUE = brief_catalogue()
STEPS = single_steps(toolbox().tasks("test", 60, 0))


def shop(seed, faulty):
    return make_order(CATALOGUE, STEPS, seed=seed, skills=4, tools=2, faulty=faulty)


@pytest.mark.parametrize("state, helps", [("sound", True), ("broken", False), ("lying", False)])
def test_a_probe_helps_only_with_a_sound_tool_of_the_function(state, helps):
    entry = CATALOGUE.entries[STEPS[0]["name"]]
    offer = Offer(entry, 1, state)
    assert probe_offer(CATALOGUE, offer, STEPS[0]) is helps
    assert (call_offer(CATALOGUE, offer, STEPS[0]["arguments"]) == str(STEPS[0]["value"])) is helps
    other = Offer(CATALOGUE.entries[STEPS[1]["name"]], 1, state)
    assert probe_offer(CATALOGUE, other, STEPS[0]) is False


def test_rejected_arguments_are_no_result():
    offer = Offer(CATALOGUE.entries[STEPS[0]["name"]], 1, "sound")
    assert call_offer(CATALOGUE, offer, {"unknown": 1}) is None


def test_an_order_is_reproducible_with_three_vendors_of_each_tool():
    order = shop(3, 0.5)
    assert order.offers == shop(3, 0.5).offers != shop(4, 0.5).offers
    assert len({step["function"] for step in order.steps}) == 4
    names = [one.entry.name for one in order.offers]
    assert all(names.count(name) == 3 for name in names)
    assert all(1 <= one.cost <= 5 for one in order.offers)
    best_M = order.score_IM.max(0)
    assert best_M == pytest.approx(order.importance_M, abs=1e-12)
    assert {one.state for one in shop(3, 0.0).offers} == {"sound"}
    assert {one.state for one in shop(3, 1.0).offers} == {"broken", "lying"}


def test_bad_orders_raise():
    with pytest.raises(InputError, match="faulty is 2"):
        make_order(CATALOGUE, STEPS, seed=0, faulty=2)
    with pytest.raises(InputError, match="1 steps with different functions for 6 skills"):
        make_order(CATALOGUE, STEPS[:1], seed=0)
