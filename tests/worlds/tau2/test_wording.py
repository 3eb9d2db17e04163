"""Words of a customer for state-changing calls."""

import pytest

pytest.importorskip("tau2")

from handaxe.worlds.tau2.customer_requests import requests
from handaxe.worlds.tau2.domains import package
from handaxe.worlds.tau2.wording import WORDS, request_words

MISSING = {"user_id", "item_ids", "new_item_ids"}
"""Arguments that the agent looks up."""


def test_items_are_named_by_product_and_options():
    (one,) = requests("retail", "0")
    assert one.said == (
        "I am Yusuf Rossi in zip code 19122. In order #W2378156 please exchange the Mechanical Keyboard (switch type "
        "linear, backlight RGB, size full size) for one with switch type clicky, backlight none, size full size and "
        "the Smart Thermostat (compatibility Apple HomeKit, color black) for one with compatibility Google Assistant, "
        "color black. Use credit_card_9513926 for the difference."
    )


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_every_state_changing_call_has_words_with_its_arguments(domain):
    seen = set()
    for scenario in package(domain).raw:
        for one in requests(domain, scenario):
            if not one.changes:
                continue
            call = one.calls[-1]
            seen.add(call.name)
            for key, value in call.arguments.items():
                if key not in MISSING and isinstance(value, str | int):
                    assert str(value).replace("_", " ") in one.said.replace("_", " "), (scenario, key)
    assert seen <= set(WORDS) and len(seen) == (7 if domain == "retail" else 6)


def test_another_call_is_named_with_its_arguments():
    db = package("retail").new().tools.db
    assert request_words("open_window", {"user_id": "u1"}, db) == "Please do this: open window, user id u1."
