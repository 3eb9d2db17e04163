"""Short tasks about orders of the retail shop."""

import json

import pytest

pytest.importorskip("tau2")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.tau2.domains import package
from handaxe.worlds.tau2.orders import (
    BRIEF_TOOLS,
    compose_scenario,
    is_composed,
    order_requests,
    raw_orders,
    short_order,
)
from handaxe.worlds.tau2.world import solved, tau2

BRIEF = {"domain": "retail", "user": "requests", "brief": True}


def orders():
    return package("retail").new().tools.db.orders


def first(status, items):
    return next(key for key, one in orders().items() if one.status == status and len(one.items) == items)


def test_an_order_is_cancelled_returned_or_read():
    pending, delivered = first("pending", 1), first("delivered", 2)
    (read,) = order_requests(f"{delivered} status?")
    assert [one["name"] for one in read.actions] == ["get_order_details"] and read.output == "delivered"
    (cancel,) = order_requests(f"{pending} ordered by mistake")
    assert cancel.actions[1] == {
        "name": "cancel_pending_order",
        "arguments": {"order_id": pending, "reason": "ordered by mistake"},
    }
    (back,) = order_requests(f"{delivered} no longer needed")
    order = orders().seen(delivered)
    assert back.actions[1]["arguments"] == {
        "order_id": delivered,
        "item_ids": [one.item_id for one in order.items],
        "payment_method_id": order.payment_history[0].payment_method_id,
    }


def test_a_composed_task_has_the_packages_format():
    scenario = f"{first('pending', 1)} status?|{first('delivered', 1)} no longer needed"
    raw = raw_orders(scenario)
    assert is_composed(scenario) and not any(map(is_composed, package("retail").raw))
    assert raw["evaluation_criteria"]["communicate_info"] == ["pending"] and raw["id"] == scenario
    assert [one["name"] for one in raw["evaluation_criteria"]["actions"]][-1] == "return_delivered_order_items"


def test_orders_of_train_and_test_have_different_customers():
    owners = {}
    for side in ("train", "test"):
        scenarios = [compose_scenario(side, 0, number) for number in range(200)]
        named = [one.split()[0] for scenario in scenarios for one in scenario.split("|")]
        owners[side] = {orders().seen(one).user_id for one in named}
    assert len(owners["train"]) > 100 and len(owners["test"]) > 40 and not owners["train"] & owners["test"]
    assert compose_scenario("test", 0, 3) == compose_scenario("test", 0, 3) != compose_scenario("test", 1, 3)


def test_replies_are_a_line():
    reply = {"status": "delivered", "items": [{"item_id": "1"}, {"item_id": "2"}]}
    reply["payment_history"] = [{"payment_method_id": "paypal_3"}]
    assert short_order(json.dumps(reply)) == "delivered 1 2 paypal_3"
    assert short_order(json.dumps({**reply, "status": "pending"})) == "pending"


def test_two_requests_of_a_hard_customer_fit_the_starts_context():
    world = tau2(**BRIEF, personas=("hard",), test_personas=("hard",))
    for number, task in enumerate(world.tasks("train", 60, 0)):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), seed=number, max_turns=world.start_turns)
        assert solved(one) == 1 and len(one.sequences[0]) <= world.start_context
        assert {tool.name for tool in one.tools} == set(BRIEF_TOOLS)
        assert max(len(turn.parsed.calls) for turn in one.turns) == 1


def test_atoms_are_the_number_of_requests():
    made = tau2(**BRIEF, atoms=(4, 5)).tasks("train", 30, 0)
    assert {one.metadata["requests"] for one in made} == {4, 5}
    with pytest.raises(InputError, match="1 to 9"):
        tau2(**BRIEF, atoms=(0,))


@pytest.mark.parametrize("scenario", ["#W1 status?", "#W2378156 dance", "#W2378156", "#W3220387 no longer needed"])
def test_an_unknown_request_raises(scenario):
    with pytest.raises(TaskError, match="take tasks from the world"):
        order_requests(scenario)


def test_further_tools_are_offered_and_other_tools_of_the_shop_are_not():
    world = tau2(**BRIEF)
    (task,) = world.tasks("test", 1, 0)
    env = world.env([calculator])(task)
    assert {tool.name for tool in env.start()[1]} == {*BRIEF_TOOLS, "calculator"}
    turn = ParsedTurn("", (ToolCall("get_user_details", {"user_id": "yusuf_rossi_9620"}, "c0"),))
    assert env.step(turn, seed=0).replies[0].status == "invalid"
