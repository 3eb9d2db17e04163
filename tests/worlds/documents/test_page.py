import random

import numpy as np
import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")
pytest.importorskip("segno")
pytest.importorskip("skimage")

from handaxe.tools.ocr import recognize_text  # noqa: E402
from handaxe.tools.read_code import decode_codes  # noqa: E402
from handaxe.worlds.documents.page import (  # noqa: E402
    FONTS,
    INKS,
    DocumentPage,
    draw_page,
    draw_registry,
    place_slips,
    shrink_page,
)
from handaxe.worlds.documents.pictures import PHOTOGRAPHS  # noqa: E402
from handaxe.worlds.plates.scene import PLATES, SHOWN, SIDE, UNIT  # noqa: E402

REGISTRY = draw_registry(200, 0)
FORMS = ("printed", "coded", "pictured")
SPLITS = ("train", "test")


def pages(split, count=12, forms=FORMS):
    own = [one for one in REGISTRY if one.split == split]
    return [place_slips(random.Random(k), own, forms) for k in range(count)]


def zoomed(page, slip, split):
    return draw_page(page, split).crop(tuple(UNIT * side for side in slip.box), longest=SHOWN)


def test_a_registry_has_distinct_numbers_of_three_digits_and_two_splits():
    numbers = [one.number for one in REGISTRY]
    assert len(set(numbers)) == 200 and all(100 <= number < 1000 for number in numbers)
    assert all(10 <= one.price < 100 and 10 <= one.postage < 100 for one in REGISTRY)
    assert 0.1 < np.mean([one.split == "test" for one in REGISTRY]) < 0.3


def test_fonts_and_photographs_are_in_one_split():
    for content in (FONTS, PHOTOGRAPHS):
        assert not set(content["train"]) & set(content["test"])


def test_a_page_has_a_red_slip_first_and_no_colour_or_cell_twice():
    for page in pages("train"):
        assert page.slips[0].colour == "red" and len({slip.colour for slip in page.slips}) == PLATES
        cells = {(slip.left, slip.top) for slip in page.slips} | {(page.stamp.left, page.stamp.top)}
        assert len(cells) == PLATES + 1 and all(0 <= side < SIDE and side % 2 == 0 for cell in cells for side in cell)


@pytest.mark.parametrize("split", SPLITS)
def test_the_tool_of_a_form_reads_a_zoom_and_the_other_tools_do_not(split):
    for page in pages(split, 6):
        for slip in page.slips[:2]:
            shown = zoomed(page, slip, split)
            lines = recognize_text(shown, detail=128)
            assert (lines == (str(slip.number), str(slip.price))) == (slip.form == "printed")
            assert decode_codes(shown) == ((str(slip.number),) if slip.form == "coded" else ())


def test_nothing_is_readable_in_an_overview():
    for page in pages("test", 6):
        overview = shrink_page(page, "test")
        assert not decode_codes(overview) and not any(line.isdigit() for line in recognize_text(overview, detail=128))


def test_the_overview_has_the_means_of_the_page():
    page = pages("train", 1)[0]
    slow = np.zeros((SIDE, SIDE, 3))
    pixels = draw_page(page, "train").pixels
    for y in range(SIDE):
        for x in range(SIDE):
            slow[y, x] = pixels[UNIT * y : UNIT * (y + 1), UNIT * x : UNIT * (x + 1)].reshape(-1, 3).mean(0)
    shown = shrink_page(page, "train").pixels
    assert shown.shape == (SHOWN, SHOWN, 3)
    assert np.abs(shown[:: SHOWN // SIDE, :: SHOWN // SIDE] - slow).max() <= 0.5 + 1e-9


def test_a_stamp_of_each_ink_is_drawn_in_its_cell():
    page = pages("train", 1)[0]
    for ink, colour in INKS.items():
        drawn = draw_page(DocumentPage(page.slips, page.stamp._replace(ink=ink)), "train").pixels
        left, top = page.stamp.left * UNIT, page.stamp.top * UNIT
        assert tuple(drawn[top + UNIT, left + UNIT]) == colour
