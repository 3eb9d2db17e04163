"""Words of a customer for the state-changing calls of retail and airline, with names instead of item numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["request_words"]

Arguments = Mapping[str, Any]


def request_words(name: str, arguments: Arguments, db: Any) -> str:
    """Word a call as a request. Items of an order are named by product and options, which the agent has to look up.

    Args:
        name: of a tool of retail or airline.
        arguments: of the call.
        db: database of the package before the call.

    Example:
        ("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"}, db)  ->
        "Please cancel order #W1: no longer needed."
    """
    if name in WORDS:
        return WORDS[name](arguments, db)
    return f"Please do this: {name.replace('_', ' ')}, {_listed(arguments)}."


def _listed(arguments: Arguments) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in arguments.items())


def _items(arguments: Arguments, db: Any) -> list[str]:
    order = db.orders.seen(arguments["order_id"])
    options = {one.item_id: f"the {one.name} ({_options(one.options)})" for one in order.items}
    return [options[one] for one in arguments["item_ids"]]


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in options.items())


def _variants(items: Sequence[str], db: Any) -> list[str]:
    """Options of items by number."""
    every = {key: one for product in db.products.values() for key, one in product.variants.items()}
    return [_options(every[one].options) for one in items]


def _return(arguments: Arguments, db: Any) -> str:
    order, payment = arguments["order_id"], arguments["payment_method_id"]
    return f"From order {order} I want to return {' and '.join(_items(arguments, db))}. Refund it to {payment}."


def _replace(verb: str) -> Callable[[Arguments, Any], str]:
    def words(arguments: Arguments, db: Any) -> str:
        new = _variants(arguments["new_item_ids"], db)
        pairs = [f"{old} for one with {wanted}" for old, wanted in zip(_items(arguments, db), new)]
        payment = arguments["payment_method_id"]
        return (
            f"In order {arguments['order_id']} please {verb} {' and '.join(pairs)}. Use {payment} for the difference."
        )

    return words


def _address(arguments: Arguments) -> str:
    return ", ".join(arguments[key] for key in ("address1", "address2", "city", "state", "country", "zip"))


def _flights(arguments: Arguments) -> str:
    return ", ".join(f"{one['flight_number']} on {one['date']}" for one in arguments["flights"])


def _passengers(arguments: Arguments) -> str:
    people = arguments["passengers"]
    return ", ".join(f"{one['first_name']} {one['last_name']} (born {one['dob']})" for one in people)


def _book(arguments: Arguments, db: Any) -> str:
    del db
    paid = " and ".join(f"{one['amount']} with {one['payment_id']}" for one in arguments["payment_methods"])
    trip = f"{arguments['flight_type'].replace('_', ' ')} from {arguments['origin']} to {arguments['destination']}"
    return (
        f"Please book for {arguments['user_id']} a trip, {trip}, in {arguments['cabin'].replace('_', ' ')}, on "
        f"{_flights(arguments)}, for {_passengers(arguments)}. I pay {paid}. There are "
        f"{arguments['total_baggages']} bags, {arguments['nonfree_baggages']} of them paid; insurance: "
        f"{arguments['insurance']}."
    )


def _change_flights(arguments: Arguments, db: Any) -> str:
    del db
    return (
        f"Please change reservation {arguments['reservation_id']} to {arguments['cabin'].replace('_', ' ')} on "
        f"{_flights(arguments)}. Use {arguments['payment_id']} for the difference."
    )


def _bags(arguments: Arguments, db: Any) -> str:
    del db
    return (
        f"Please set the bags of reservation {arguments['reservation_id']} to {arguments['total_baggages']}, "
        f"{arguments['nonfree_baggages']} of them paid, with {arguments['payment_id']}."
    )


WORDS: Mapping[str, Callable[[Arguments, Any], str]] = {
    "cancel_pending_order": lambda one, db: f"Please cancel order {one['order_id']}: {one['reason']}.",
    "return_delivered_order_items": _return,
    "exchange_delivered_order_items": _replace("exchange"),
    "modify_pending_order_items": _replace("change"),
    "modify_pending_order_address": lambda one, db: f"Please ship order {one['order_id']} to {_address(one)}.",
    "modify_user_address": lambda one, db: f"Please change my default address to {_address(one)}.",
    "modify_pending_order_payment": lambda one, db: (
        f"Please charge order {one['order_id']} to {one['payment_method_id']}."
    ),
    "book_reservation": _book,
    "cancel_reservation": lambda one, db: f"Please cancel reservation {one['reservation_id']}.",
    "update_reservation_flights": _change_flights,
    "update_reservation_baggages": _bags,
    "update_reservation_passengers": lambda one, db: (
        f"Please set the passengers of reservation {one['reservation_id']} to {_passengers(one)}."
    ),
    "send_certificate": lambda one, db: f"Please send {one['user_id']} a certificate of ${one['amount']}.",
}
