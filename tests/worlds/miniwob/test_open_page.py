"""Contents of a page as JSON, and actions that never reach the browser; test_world.py acts in a real Chromium."""

import asyncio
import json

import pytest

from handaxe.core.errors import Retry
from handaxe.worlds.miniwob.elements import Element
from handaxe.worlds.miniwob.open_page import PageState, TypedPage, page_from_json, page_to_json

SHOWN = PageState(
    "Press it.", (Element(4, "input_text", "bo", None, (0, 1, 9, 9)), Element(7, "button", "Ok", None, (0, 9, 9, 19)))
)


def test_a_page_survives_json():
    kept = json.loads(json.dumps(page_to_json(SHOWN)))
    assert page_from_json(kept) == SHOWN
    assert SHOWN.to_text() == "Press it.\ninput_text bo [1]\nbutton Ok [2]"


def test_actions_on_missing_elements_and_text_for_buttons_are_refused():
    page = TypedPage(None, "enter-text", 0, SHOWN)
    for ref in (0, 3):
        with pytest.raises(Retry, match=f"there is no element {ref}; there are 1 to 2"):
            asyncio.run(page.click(ref))
    with pytest.raises(Retry, match="element 2 is no field"):
        asyncio.run(page.type(2, "x"))
    over = TypedPage(None, "enter-text", 0, SHOWN._replace(over=True, raw=1))
    with pytest.raises(Retry, match="the page is over"):
        asyncio.run(over.type(1, "x"))
    assert page.report() == {"over": False, "raw": 0.0, "clicks": 0} and over.facts()["raw"] == 1
