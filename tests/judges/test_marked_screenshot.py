from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Criterion, Message, ToolCall
from handaxe.judges.marked_screenshot import marked_screenshot
from handaxe.testing.make_records import make_task, make_trajectory

GREY = Image.of(np.full((32, 32), 99, np.uint8))
TASK = replace(make_task(), messages=(Message.of("user", "red gam", GREY),))


def asked(*calls, unit=4, criterion=None, texts=None, turn=0):
    made = make_trajectory(
        texts=texts or [""] * len(calls),
        calls=[[call] if call else [] for call in calls],
        replies=[[] for _ in calls],
        task=TASK,
    )
    return marked_screenshot(unit=unit)(made, turn, criterion)


def click(x, y):
    return ToolCall("click", {"point": f"{x} {y}"})


def black(message):
    return np.argwhere((message.images[0].pixels == 0).all(2)).tolist()


def test_a_click_is_named_and_marked():
    message = asked(click(3, 5))
    assert (message.role, message.content) == ("user", "red gam: click 3 5?\ufffc")
    assert black(message) == [[21, 13], [21, 14], [22, 13], [22, 14]]
    assert (GREY.pixels == 99).all()


def test_a_mark_in_pixels_has_two_pixels_a_side():
    assert black(asked(click(7, 9), unit=1)) == [[9, 7], [9, 8], [10, 7], [10, 8]]


def test_points_outside_and_other_actions_are_not_marked():
    for call in (
        click(50, 3),
        click(-9, -9),
        click("x", 5),
        ToolCall("click", {"ref": 3}),
        ToolCall("write", {"text": "gam"}),
    ):
        assert asked(call).images == (GREY,)
    assert asked(ToolCall("write", {"text": "gam"})).content == "red gam: write gam?\ufffc"
    assert asked(None, texts=["hm"]).content == 'red gam: "hm"?\ufffc'


def test_a_criterion_ends_the_question():
    assert (
        asked(click(1, 1), criterion=Criterion("a", "It is over.")).content == "red gam: click 1 1? It is over.\ufffc"
    )


def test_missing_images_and_units_below_1_raise():
    blind = make_trajectory(texts=["a"], task=make_task())
    with pytest.raises(InputError, match="shows no image before turn 0"):
        marked_screenshot()(blind, 0, None)
    with pytest.raises(InputError, match="give 1 pixel or more"):
        marked_screenshot(unit=0)
