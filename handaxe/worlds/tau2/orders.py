"""Short tasks about orders of tau2's retail shop, for a policy with 1,024 bytes of context.

A scenario is text: its requests, each an order and the customer's words, such as "#W2378156 no longer needed|#W6247578
status?". The shop, its orders and its tools are the package's. An order that is no longer needed is cancelled if it is
pending, and all its items are returned if it is delivered: the agent has to read the order first.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import TaskError
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.tau2.domains import package
from handaxe.worlds.world import Split

__all__ = [
    "BRIEF_TOOLS",
    "COUNTS",
    "OrderRequest",
    "compose_scenario",
    "is_composed",
    "order_requests",
    "order_side",
    "raw_orders",
    "short_order",
]

BRIEF_TOOLS = ("get_order_details", "cancel_pending_order", "return_delivered_order_items")
QUESTION = "status?"
REASONS = ("no longer needed", "ordered by mistake")
MOST_ITEMS = 2
"""Items of a delivered order that fit into a line."""
COUNTS = (2,)
"""Default numbers of requests."""


class OrderRequest(NamedTuple):
    """Request of a short task: words of the customer, reference calls as in the package's tasks, and the required text,
    "" for none.
    """

    said: str
    actions: tuple[Mapping[str, Any], ...]
    output: str


def is_composed(scenario: str) -> bool:
    """Check whether a scenario of retail is a text of requests instead of an id of the package."""
    return scenario.startswith("#")


def compose_scenario(split: Split, seed: int, number: int, counts: Sequence[int] = COUNTS) -> str:
    """Draw requests about orders of one split. Customers of train and test are disjoint.

    Args:
        split: train or test.
        seed: with `number`, determines the scenario.
        number: of the task.
        counts: possible numbers of requests.

    Example:
        compose_scenario("test", 0, 0) is "#W2378156 no longer needed|#W6247578 status?" or similar
    """
    rng = random.Random(derive_seed("tau2 orders", split, seed, number))
    orders = rng.sample(_orders(split), rng.choice(counts))
    return "|".join(f"{one} {rng.choice((QUESTION, *REASONS))}" for one in orders)


@functools.lru_cache(maxsize=8192)
def order_requests(scenario: str) -> tuple[OrderRequest, ...]:
    """Parse the requests of a scenario.

    Raises:
        TaskError: an order that the shop does not have, or unknown words.
    """
    return tuple(_request(*one.partition(" ")[::2]) for one in scenario.split("|"))


@functools.lru_cache(maxsize=8192)
def raw_orders(scenario: str) -> Mapping[str, Any]:
    """Write a scenario in the format of the package's tasks."""
    asked = order_requests(scenario)
    told = dict.fromkeys(("known_info", "unknown_info", "task_instructions"), "")
    return {
        "id": scenario,
        "user_scenario": {"instructions": {**told, "reason_for_call": asked[0].said}},
        "evaluation_criteria": {
            "actions": [action for one in asked for action in one.actions],
            "communicate_info": [one.output for one in asked if one.output],
        },
    }


def order_side(order_id: str) -> Split:
    """The split of an order, by its customer.

    Raises:
        TaskError: the shop does not have the order.
    """
    found = package("retail").new().tools.db.orders.seen(order_id)
    if found is None:
        raise TaskError(f"tau2's shop has no order {order_id[:20]!r}")
    return content_split("tau2 customer", found.user_id)


def short_order(reply: str) -> str:
    """Shorten an order in JSON to its status, and for a delivered order its items and its payment method.

    Example:
        '{"status": "pending", ...}' is "pending"; a delivered order is "delivered 4202497723 paypal_7644869"
    """
    order = json.loads(reply)
    if order["status"] != "delivered":
        return order["status"]
    return " ".join(["delivered", *(one["item_id"] for one in order["items"]), _paid_by(order)])


def _request(order_id: str, words: str) -> OrderRequest:
    found = package("retail").new().tools.db.orders.seen(order_id)
    unable = found is not None and words != QUESTION and found.status not in ("pending", "delivered")
    if found is None or unable or words not in (QUESTION, *REASONS):
        raise TaskError(
            f"tau2 has no request {order_id[:20]!r} {words[:20]!r} about an order: take tasks from the world"
        )
    order = found.model_dump()
    said, look = f"{order_id} {words}", _action("get_order_details", {"order_id": order_id})
    if words == QUESTION:
        return OrderRequest(said, (look,), order["status"])
    if order["status"] == "pending":
        return OrderRequest(said, (look, _action("cancel_pending_order", {"order_id": order_id, "reason": words})), "")
    items = [one["item_id"] for one in order["items"]]
    back = {"order_id": order_id, "item_ids": items, "payment_method_id": _paid_by(order)}
    return OrderRequest(said, (look, _action("return_delivered_order_items", back)), "")


def _action(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _paid_by(order: Mapping[str, Any]) -> str:
    return order["payment_history"][0]["payment_method_id"]


@functools.lru_cache(maxsize=2)
def _orders(split: Split) -> tuple[str, ...]:
    """Pending orders, and delivered orders of at most `MOST_ITEMS` items, of the customers of a split."""
    orders = package("retail").new().tools.db.orders
    found = []
    for order_id in sorted(orders):
        one = orders.seen(order_id)
        fits = one.status == "pending" or (one.status == "delivered" and len(one.items) <= MOST_ITEMS)
        if fits and order_side(order_id) == split:
            found.append(order_id)
    return tuple(found)
