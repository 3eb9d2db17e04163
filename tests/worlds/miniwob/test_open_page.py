"""Contents of a page as JSON, and actions that never reach the browser; test_world.py acts in a real Chromium."""

import asyncio
import json

import numpy as np
import pytest

from handaxe.core.errors import Retry
from handaxe.core.images import Image
from handaxe.worlds.miniwob.elements import Element
from handaxe.worlds.miniwob.open_page import OpenPage, PageState, PointedPage, TypedPage, page_from_json, page_to_json
from handaxe.worlds.miniwob.screenshots import View

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


class Recorder:
    """Player of pages that keeps the actions and stays at one state."""

    def __init__(self, state):
        self.state, self.played = state, []

    async def play(self, page, seed, actions):
        self.played.append(list(actions))
        return self.state, self.state


def test_a_click_on_a_pixel_becomes_a_click_on_a_point_of_the_page():
    recorder = Recorder(SHOWN)
    page = PointedPage(recorder, "click-test-2", 0, SHOWN, view=View("pixels", 32))
    for x, y in ((-1, 0), (32, 0), (0, 32)):
        with pytest.raises(Retry, match="give two numbers from 0 to 31"):
            asyncio.run(page.click(f"{x} {y}"))
    with pytest.raises(Retry, match="give two numbers"):
        asyncio.run(page.click("3"))
    asyncio.run(page.click("1 31"))
    assert recorder.played == [[((7, 207), None)]] and page.facts()["clicked"] == []
    low = SHOWN._replace(
        elements=tuple(one._replace(box=(0, 50 + 20 * n, 40, 70 + 20 * n)) for n, one in enumerate(SHOWN.elements))
    )
    named = PointedPage(Recorder(low), "click-test-2", 0, low, view=View("pixels", 32))
    asyncio.run(named.click("1 5"))
    assert named.facts()["clicked"] == ["Ok"]


def test_a_shown_image_is_the_reply():
    image = Image.of(np.zeros((4, 4), np.uint8))
    page = OpenPage(Recorder(SHOWN._replace(image=image)), "click-button", 0, SHOWN)
    assert asyncio.run(page.click(2)) == image


def test_a_page_takes_fifty_actions():
    """Each action repeats all before."""
    recorder = Recorder(SHOWN)
    page = OpenPage(recorder, "click-button", 0, SHOWN)
    for _ in range(50):
        asyncio.run(page.click(2))
    with pytest.raises(Retry, match="the page takes 50 actions, and all are used"):
        asyncio.run(page.click(2))
    assert len(recorder.played[-1]) == 50 and page.report()["clicks"] == 50
