"""Images of a rollout in Chromium: in the place of their tokens, larger on click, with the box of a call."""

import pytest
from helpers.image_records import noise, shown_group, shown_trajectory

from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.training.record.run_record import RunRecord
from handaxe.view.report_file import write_report

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SOURCE = noise(0, 320, 240)
PART = SOURCE.crop((80, 60, 160, 120))
PAGE = "#/run/run/rollout/1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    with RunRecord(folder / "run") as record:
        record.write_step(0, [shown_group(shown_trajectory(SOURCE, PART, box=(80, 60, 160, 120)))], {"reward": 1.0})
    return folder


@pytest.fixture(params=["view", "report"])
def address(request, folder, decode, serve, tmp_path):
    if request.param == "report":
        write_report(folder, tmp_path / "report.html", decode)
        yield (tmp_path / "report.html").as_uri()
        return
    with serve(folder, decode) as found:
        yield found


def test_images_stand_in_the_place_of_their_tokens(look, address):
    page = look(address).open(PAGE)
    shown = page.locator(".tokens figure.image")
    assert shown.count() == 2
    assert shown.nth(0).locator("figcaption").inner_text() == f"320x240, 3 tokens, {SOURCE.digest[:6]}"
    page.wait_for_function("[...document.querySelectorAll('figure img')].every((one) => one.naturalWidth > 0)")
    assert page.locator("figure img").count() == 4
    assert shown.nth(0).locator("img").evaluate("(one) => [one.naturalWidth, one.naturalHeight]") == [320, 240]
    assert shown.nth(1).locator("img").get_attribute("alt").startswith("reply to zoom {")


def test_the_box_of_the_call_is_drawn_on_the_image_that_it_cut(look, address):
    page = look(address).open(PAGE)
    frame = page.locator(".call .frame:has(.box)")
    whole, box = frame.bounding_box(), frame.locator(".box").bounding_box()
    shares = [(box["x"] - whole["x"]) / whole["width"], (box["y"] - whole["y"]) / whole["height"]]
    shares += [box["width"] / whole["width"], box["height"] / whole["height"]]
    assert shares == pytest.approx([0.25] * 4, abs=0.03)


def test_an_image_is_larger_on_click_and_closes(look, address):
    page = look(address).open(PAGE)
    small = page.locator(".tokens figure.image img").nth(1)
    small.wait_for()
    before = small.bounding_box()["width"]
    page.locator(".tokens .enlarge").nth(1).click()
    large = page.locator("dialog.enlarged img")
    large.wait_for()
    assert large.bounding_box()["width"] > 1.5 * before
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.enlarged", state="detached")


def test_keys_step_over_an_image_as_one_element(look, address):
    page = look(address).open(PAGE)
    page.locator("#tokens").focus()
    places = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        places.append(page.evaluate("document.querySelector('.chosen').dataset.token"))
    assert places == ["0.0", "0.1", "0.4"]
    page.keyboard.press("ArrowLeft")
    assert page.locator("figure.chosen").count() == 1
    panel = page.locator("aside .panel").inner_text()
    assert "320x240" in panel and SOURCE.digest in panel and "1 to 3 of sequence 0" in panel


def test_bytes_that_a_report_lacks_are_a_grey_box_of_the_same_size(look, folder, decode, tmp_path):
    write_report(folder, tmp_path / "report.html", decode, image_megabytes=0)
    page = look((tmp_path / "report.html").as_uri()).open(PAGE)
    page.wait_for_selector(".frame.absent")
    assert page.locator("figure img").count() == 0
    box = page.locator(".tokens .frame.absent").first.bounding_box()
    assert box["width"] / box["height"] == pytest.approx(320 / 240, rel=0.02)


@pytest.mark.parametrize("width", [1366, 390])
def test_no_image_is_wider_than_the_page(look, address, width):
    page = look(address, viewport={"width": width, "height": 800}).open(PAGE)
    page.wait_for_selector("figure img")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


WIDE = noise(3, 72, 24)
"""Three patches of 24 pixels in a row, as many as the record has tokens."""


@pytest.fixture(params=["view", "report"])
def patched(request, serve, tmp_path):
    """The address of a run whose policy reads patches."""

    def decode(folder):
        return Compact(TinyImageProcessor(24)).decode

    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [shown_group(shown_trajectory(WIDE, WIDE, box=(0, 0, 72, 24)))], {"reward": 1.0})
    if request.param == "report":
        write_report(tmp_path, tmp_path / "report.html", decode)
        yield (tmp_path / "report.html").as_uri()
        return
    with serve(tmp_path, decode) as found:
        yield found


def test_the_patch_under_the_pointer_is_outlined_and_its_token_is_named(look, patched):
    page = look(patched).open(PAGE)
    figure = page.locator(".tokens figure.image").nth(1)
    figure.locator("img").wait_for()
    caption = figure.locator("figcaption").inner_text()
    frame = figure.locator(".frame")
    frame.scroll_into_view_if_needed()
    whole = frame.bounding_box()
    for column in range(3):
        page.mouse.move(whole["x"] + (column + 0.5) * whole["width"] / 3, whole["y"] + whole["height"] / 2)
        assert figure.locator("figcaption").inner_text() == f"token {8 + column}: row 1, column {column + 1}"
        patch = frame.locator(".patch").bounding_box()
        assert patch["x"] - whole["x"] == pytest.approx(column * whole["width"] / 3, abs=2)
        assert patch["width"] == pytest.approx(whole["width"] / 3, abs=3)
    page.mouse.move(1, 1)
    assert figure.locator("figcaption").inner_text() == caption and frame.locator(".patch").count() == 0
    figure.locator(".enlarge").click()
    large = page.locator("dialog.enlarged .frame")
    large.locator("img").wait_for()
    whole = large.bounding_box()
    page.mouse.move(whole["x"] + whole["width"] - 3, whole["y"] + 3)
    assert page.locator("dialog.enlarged .note").inner_text() == "token 10: row 1, column 3"
