import random

import numpy as np
import pytest

pytest.importorskip("vega_datasets")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from handaxe.core.images import message_images
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.charts.drawing import bar_top, draw_bars
from handaxe.worlds.charts.printed import SHOWN, printed_canvas, printed_overview
from handaxe.worlds.charts.tasks import bars_of
from handaxe.worlds.charts.world import charts
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.plates.scene import COLOURS

WORLD = charts(kinds=("value", "sum", "larger", "box"), brief=False)


def played(task, expert=WORLD.expert):
    return demonstrate(WORLD.env(WORLD.tools), task, expert, format=Compact(TinyImageProcessor(8)), context=4096)


def test_bars_have_the_heights_of_the_handwritten_chart():
    _, bars = draw_bars(random.Random(3), "train", 3)
    pixels = printed_canvas(bars).pixels.astype(int)
    assert pixels.shape == (1024, 1024, 3)
    for bar in bars:
        column = pixels[:, 128 * bar.left + 30]  # beside the label
        rows = np.flatnonzero((np.abs(column - COLOURS[bar.colour]) <= 2).all(1))
        assert abs(rows[0] - 4 * bar_top(int(bar.number))) <= 3 and rows[-1] >= 1021


def test_a_label_is_printed_in_its_box_and_nowhere_else_on_the_bar():
    _, bars = draw_bars(random.Random(4), "test", 4)
    pixels = printed_canvas(bars).pixels
    for bar in bars:
        x, name = 128 * bar.left, round(4 * bar_top(int(bar.number)) + 70)
        ink = pixels[:, x + 16 : x + 240].max(2) < 60
        assert ink[768:].sum() > 60 and ink[name:768].sum() == 0


def test_overview_and_zoom_have_128_pixels_and_the_expert_is_correct():
    for task in WORLD.tasks("test", 8, 0):
        (shown,) = message_images(task.messages)
        assert shown.digest == printed_overview(bars_of(task)).digest
        assert (shown.width, shown.height) == (SHOWN, SHOWN)
        one = played(task)
        assert WORLD.correct(Group(task, (one,))).outcome[0] == 1
        assert all(image.width == SHOWN for reply in one.replies for image in reply.images)


def test_the_last_number_of_a_sentence_counts():
    task = next(one for one in WORLD.tasks("train", 20, 0) if one.metadata["kind"] == "value")
    assert task.messages[0].content.startswith("The chart shows ")
    for text, worth in ((f"Of 3 bars it has {task.answer}.", 1), ("It has 1234.", 0), ("I cannot see it", 0)):
        one = played(task, lambda task, facts, text=text: Message("assistant", text))
        assert WORLD.correct(Group(task, (one,))).outcome.tolist() == [worth]
