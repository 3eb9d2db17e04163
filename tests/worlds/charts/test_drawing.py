import random

import numpy as np
import pytest

pytest.importorskip("vega_datasets")
pytest.importorskip("sklearn")

from handaxe.worlds.charts.drawing import SAMPLED, bar_box, bar_top, chart_canvas, chart_overview, draw_bars
from handaxe.worlds.plates.scene import BACKGROUND, COLOURS, SHOWN, UNIT, canvas, handwriting


def charts(split, count=8):
    return [draw_bars(random.Random(k), split, 2 + k % 3)[1] for k in range(count)]


def test_a_bar_of_50_begins_at_pixel_96_and_unit_3():
    assert [bar_top(value) for value in (0, 50, 99)] == [192, 96, 2]
    digits = handwriting("train")
    (bars,) = charts("train", 1)
    for value, top in ((10, 6), (50, 3), (99, 0)):
        bar = bars[0]._replace(digits=tuple(digits[int(digit)][0] for digit in str(value)))
        assert bar_box(bar) == (0, top, 2, 8)


def test_one_bar_is_red_and_every_label_is_at_the_foot_of_its_bar():
    for bars in charts("train", 30):
        assert [bar.colour for bar in bars].count("red") == 1 and len({bar.colour for bar in bars}) == len(bars)
        assert [bar.box for bar in bars] == [(2 * place, 6, 2 * place + 2, 8) for place in range(len(bars))]
    assert len({[bar.colour for bar in bars].index("red") for bars in charts("train", 30)}) == 4


def test_canvas_equals_a_slow_loop():
    for bars in charts("train", 3):
        want, labels = np.full((256, 256, 3), BACKGROUND, np.uint8), canvas(bars).pixels
        for bar in bars:
            top = 192 - 1.92 * int(bar.number)
            for y in range(256):
                for x in range(64 * (bar.left // 2), 64 * (bar.left // 2) + 64):
                    if y < round(top):
                        continue
                    on_label = y >= 192
                    want[y, x] = labels[y, x] if on_label else COLOURS[bar.colour]
        assert (chart_canvas(bars).pixels == want).all()


def test_overview_samples_a_chart_without_labels():
    for bars in charts("test"):
        whole = np.full((256, 256, 3), BACKGROUND, np.uint8)
        for bar in bars:
            whole[bar_top(int(bar.number)) :, UNIT * bar.left : UNIT * (bar.left + 2)] = COLOURS[bar.colour]
        seen = chart_overview(bars)
        assert (seen.width, seen.height) == (SHOWN, SHOWN)
        for row in range(SHOWN):
            for column in range(SHOWN):
                pixel = whole[UNIT * (row // 4) + SAMPLED, UNIT * (column // 4)]
                assert (seen.pixels[row, column] == pixel).all()


def test_equal_tops_have_equal_overviews():
    (bars,) = charts("train", 1)
    digits = handwriting("train")
    near = [bars[0]._replace(digits=(digits[5][0], digits[last][0])) for last in (1, 2)]
    assert near[0].number != near[1].number
    assert len({chart_overview((bar, *bars[1:])).digest for bar in near}) == 1


def test_handwriting_is_that_of_the_split():
    for split in ("train", "test"):
        own = {index for indices in handwriting(split).values() for index in indices}
        assert {index for bars in charts(split, 20) for bar in bars for index in bar.digits} <= own
