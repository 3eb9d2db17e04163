import importlib.util
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")
from PIL import Image as Pillow  # noqa: E402
from PIL import ImageDraw, ImageFont  # noqa: E402

from handaxe.core.errors import InputError  # noqa: E402
from handaxe.core.images import Image  # noqa: E402
from handaxe.core.records import ToolCall  # noqa: E402
from handaxe.testing.tools import check_tool  # noqa: E402
from handaxe.tools.ocr import ocr, recognize_text  # noqa: E402

TOOL = ocr(detail=128)
module = sys.modules["handaxe.tools.ocr"]


def printed(*lines):
    """A page of 128 by 64 pixels, a line in every 32 rows."""
    sheet = Pillow.new("RGB", (128, 64), (240, 230, 220))
    for number, text in enumerate(lines):
        ImageDraw.Draw(sheet).text((6, 2 + 32 * number), text, font=ImageFont.load_default(26), fill=(0, 0, 0))
    return Image.of(sheet)


PAGE, BLANK = printed("Invoice", "4711"), Image.of(np.full((40, 40, 3), 200, np.uint8))


def read(tool=TOOL, images=(PAGE, BLANK), **arguments):
    return tool.run(ToolCall("ocr", arguments, "c0"), images=images)


def test_ocr_reads_the_lines_of_the_first_image_from_top_to_bottom():
    assert check_tool(TOOL, arguments={"image": 1}, images=(PAGE,)).content == "Invoice\n4711"
    assert read().content == "Invoice\n4711"


def test_a_box_restricts_the_text():
    assert read(box=[0, 32, 128, 64]).content == "4711"
    assert read(ocr(detail=128, unit="per_mille"), box=[0, 0, 1000, 500]).content == "Invoice"


@pytest.mark.parametrize("side", [1, 8, 40])
def test_an_image_without_text_is_a_reply_and_no_error(side):
    reply = read(images=(Image.of(np.full((side, side, 3), 200, np.uint8)),))
    assert (reply.status, reply.content) == ("ok", "no text found")


def test_bad_boxes_and_unknown_images_are_retries():
    assert "is empty or not inside the image of 128 by 64" in read(box=[0, 0, 0, 5]).content
    assert "has 3 by 9 pixels: give a larger" in read(box=[0, 0, 3, 9]).content
    assert read(image=3).content == "there is no image 3: 2 images were shown"
    assert read(images=()).content == "there is no image 1: no image was shown so far"


def test_numbers_out_of_range_raise():
    for wrong in ({"unit": "percent"}, {"smallest": 0}, {"detail": 31}, {"detail": 2001}):
        with pytest.raises(InputError, match="give"):
            ocr(**wrong)
    assert ocr(prefix="page_", cost=2.0).schema.name == "page_ocr"


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"handaxe\[vision\]"):
        ocr()


def test_a_process_has_one_engine_of_one_thread_and_keeps_texts():
    before = len(module.TEXTS)
    page = printed("Total", "8950")
    found = []
    threads = [threading.Thread(target=lambda: found.append(recognize_text(page, detail=128))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [("Total", "8950")] * 3 and len(module.TEXTS) == before + 1
    engine = module._engine()
    assert engine is module._engine()
    options = engine.text_rec.session.session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_the_oldest_text_is_dropped_first(monkeypatch):
    monkeypatch.setattr(module, "KEPT", 1)
    monkeypatch.setattr(module, "TEXTS", {("older", 128): ("x",)})
    assert recognize_text(BLANK, detail=128) == () and list(module.TEXTS) == [(BLANK.digest, 128)]


def test_without_boxes_the_image_is_the_only_parameter():
    tool = ocr(detail=128, boxes=False)
    assert set(tool.schema.parameters["properties"]) == {"image"}
    assert read(tool, image=1).content == read(image=1).content
