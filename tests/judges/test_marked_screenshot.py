from dataclasses import replace

import numpy as np
import pytest
from helpers.answerers import Says

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Group, Message, ToolCall
from handaxe.judges.marked_screenshot import marked_screenshot
from handaxe.testing.make_records import make_task, make_trajectory

CONTRACT = []
LAB = "asks a language model about screenshots alone"
GREY = Image.of(np.full((32, 32), 99, np.uint8))
TASK = replace(make_task(), messages=(Message.of("user", "red gam", GREY),))


def rollout(*calls, texts=None):
    return make_trajectory(
        texts=texts or [""] * len(calls),
        calls=[[call] if call else [] for call in calls],
        replies=[[] for _ in calls],
        task=TASK,
    )


def asked(*calls, unit=4, texts=None):
    ask = marked_screenshot(desk=AskDesk(Says({})), unit=unit).question(rollout(*calls, texts=texts), 0)
    assert ask.about == ("trajectory-0", 0, "")
    (message,) = ask.prompt.render(ask.fields)
    return message


def click(x, y):
    return ToolCall("click", {"point": f"{x} {y}"})


def black(message):
    return np.argwhere((message.images[0].pixels == 0).all(2)).tolist()


def test_a_click_is_named_and_marked():
    message = asked(click(3, 5))
    assert (message.role, message.content) == ("user", '"red gam": "click 3 5"?\ufffc')
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
    assert asked(ToolCall("write", {"text": "gam"})).content == '"red gam": "write gam"?\ufffc'
    assert asked(None, texts=["hm"]).content == '"red gam": "hm"?\ufffc'


def test_steps_are_scored_by_the_answers():
    """P(yes) 0.9 and 0.25 -> 0.8 and -0.5."""
    judge = marked_screenshot(desk=AskDesk(Says({"click 1 1": 0.9, "write": 0.25})))
    one = rollout(click(1, 1), ToolCall("write", {"text": "gam"}))
    assert judge.score_steps(Group(TASK, (one,)))[0] == pytest.approx([0.8, -0.5])


def test_a_mark_is_another_question():
    desk = AskDesk(Says({}))
    near, far = (
        marked_screenshot(desk=desk, unit=unit).question(rollout(click(1, 1)), 0).key("judge") for unit in (1, 4)
    )
    assert near != far


def test_missing_images_and_units_below_1_raise():
    blind = make_trajectory(texts=["a"], task=make_task())
    with pytest.raises(InputError, match="shows no image before turn 0"):
        marked_screenshot(desk=AskDesk(Says({}))).question(blind, 0)
    with pytest.raises(InputError, match="give 1 pixel or more"):
        marked_screenshot(desk=AskDesk(Says({})), unit=0)
