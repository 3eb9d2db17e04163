"""Every page in Chromium: interaction, hostile text, accessibility."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.group_records import recorded_group, with_rollouts

from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.deepagent.folded_hops import folded_hops
from handaxe.training.record.run_record import RunRecord
from handaxe.worlds.parts.demonstrate import demonstrate

expect = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PAGES = {
    "runs": "#/",
    "run": "#/run/seed-0",
    "step": "#/run/seed-0/step/3",
    "rollout": "#/run/seed-0/rollout/3?colour=advantage&token=0.60",
    "hostile": "#/run/seed-0/rollout/10",
    "results": "#/results",
    "result": "#/results/results%2Fotc.json",
    "comparison": "#/results/results%2Fsides.json",
}
PATIENCE = 90_000
OTC = Path(__file__).parents[3] / "handaxe" / "papers" / "otc" / "result.json"
CHARTED = ("runs", "run", "result")
LOOKS = {
    "light-laptop": {"color_scheme": "light", "viewport": {"width": 1366, "height": 850}},
    "dark-laptop": {"color_scheme": "dark", "viewport": {"width": 1366, "height": 850}},
    "light-phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 800}},
    "dark-phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}},
}


@pytest.fixture(params=["served", "reported"])
def address(request):
    return request.getfixturevalue(request.param)


def test_runs_are_drawn_over_each_other_with_a_band_over_seeds(look, address):
    page = look(address).open("#/")
    page.wait_for_selector(".legend .traces")
    assert page.locator(".legendtext").all_text_contents() == ["seed-0", "seed-1"]
    page.get_by_label("draw seed-1").uncheck()
    expect(page.locator(".legendtext")).to_have_count(1, timeout=PATIENCE)
    page.get_by_label("draw seed-1").check()
    page.get_by_label("mean and 95 % interval over seeds").check()
    expect(page.locator(".legend")).to_contain_text("mean of 2", timeout=PATIENCE)
    page.locator("#axis").select_option("tokens")
    page.wait_for_selector(".xtitle:text-is('tokens')")
    page.locator("details.figures summary").first.click()
    assert "grpo, mean of 2" in page.locator("details.figures table").inner_text()


def test_choice_during_the_first_drawing_is_drawn_last(look, served):
    looker, held = look(served), []
    looker.page.route("**/lib/plotly.min.js", lambda route: held.append(route))
    page = looker.open("#/")
    page.get_by_label("mean and 95 % interval over seeds").check()
    page.wait_for_timeout(500)
    held[0].continue_()
    expect(page.locator(".legend")).to_contain_text("mean of 2", timeout=PATIENCE)
    page.wait_for_timeout(500)
    assert "mean of 2" in page.locator(".legend").text_content()


def test_table_is_sorted_searched_and_linked(look, address):
    page = look(address).open("#/run/seed-0")
    page.wait_for_selector(".dt-scroll-body tbody a")
    page.locator(".dt-scroll-head th", has_text="score").click()
    expect(page.locator(".dt-scroll-body tbody td:nth-child(6)").first).to_have_text("0", timeout=PATIENCE)
    page.get_by_label("text", exact=True).fill("constructor")
    page.get_by_role("button", name="search").click()
    expect(page.locator("form[role=search]")).to_contain_text("2 of 11 rollouts", timeout=PATIENCE)
    assert "text=constructor" in page.url
    page.locator(".dt-scroll-body tbody a").first.click()
    page.wait_for_selector(".tokens .tok")
    assert re.search(r"/rollout/\d+", page.url)


def test_siblings_are_side_by_side_with_reasons_for_a_missing_gradient(look, address):
    page = look(address).open("#/run/seed-0/step/3")
    first = page.locator(".group").first
    assert first.locator(".card").count() == 3 and "fork at token" in first.inner_text()
    tops = first.locator(".card").evaluate_all("cards => cards.map(card => card.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    assert page.locator(".group").nth(1).get_by_text("equal group").count() == 2
    page.get_by_label("only groups whose scores differ").check()
    assert page.locator(".group:visible").count() == 1
    page.keyboard.press("[")
    page.wait_for_selector("h1:text-is('Step 2')")


def test_tokens_are_coloured_selected_by_keys_and_linked(look, address):
    looker = look(address)
    page = looker.open("#/run/seed-0/rollout/1")
    page.get_by_label("colour tokens by").select_option("advantage")
    assert page.locator(".tokens .p5").count() > 3 and "colour=advantage" in page.url
    page.locator("#tokens").focus()
    page.keyboard.press("n")
    chosen = page.locator(".tok.chosen")
    place, facts = chosen.get_attribute("data-token"), page.locator(".panel").inner_text()
    assert f"token={place}" in page.url and "logp" in facts and "advantage" in facts
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert chosen.get_attribute("data-token") == place
    text = chosen.inner_text()
    page = looker.open(page.url.partition("#")[1] + page.url.partition("#")[2])
    assert (
        page.locator(".tok.chosen").inner_text() == text
        and page.get_by_label("colour tokens by").input_value() == "advantage"
    )
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.keyboard.press("]")
    page.wait_for_selector("h1:text-is('task-0, sample 2')")
    page.locator(".tree a").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('task-0, sample 3')")
    assert (
        "forks from it at token" in page.locator(".tree").inner_text()
        and "shared up to token" in page.locator(".turns").inner_text()
    )
    page.keyboard.press("u")
    page.wait_for_selector("h1:text-is('Step 1')")


def test_turns_have_the_names_of_their_roles(look, address):
    page = look(address).open("#/run/seed-0/rollout/1")
    expect(page.locator("section.written h3")).to_have_text(["Turn 0, planner", "Turn 1, speaker"], timeout=PATIENCE)
    assert page.locator("section[aria-label='turn 1, speaker']").count() == 1
    plain = look(address).open("#/run/seed-0/rollout/2")
    expect(plain.locator("section.written h3")).to_have_text(["Turn 0", "Turn 1"], timeout=PATIENCE)


def test_folded_sequence_is_reached_by_keys(look, serve, decode, tmp_path):
    pytest.importorskip("bm25s", reason="bm25s is missing: pip install 'handaxe[search]'")
    write_folded(tmp_path / "folded")
    with serve(tmp_path, decode) as address:
        page = look(address).open("#/run/folded/rollout/1")
        turns = page.locator(".turns")
        expect(turns.locator("h2")).to_have_text(["Sequence 0", re.compile("^Sequence 1: memory folded before turn 2")])
        assert turns.get_by_text("Your memory:").count() == 1
        page.locator(".tree button").focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_function("document.getElementById('sequence-1').getBoundingClientRect().top < innerHeight")
        page.keyboard.press("u")
        expect(page.locator(".card").first.get_by_text("1 folding", exact=True)).to_be_visible(timeout=PATIENCE)


def write_folded(folder):
    """Two rollouts of a question that needs two facts; the expert folds its context between the facts."""
    world = folded_hops(lengths=(2,), size=40)
    (task,) = world.tasks("train", 1, 0)
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), rollout=world.make_rollout(8))
    group = Group(task, (replace(one, id="0/fold/0"), replace(one, id="0/fold/1", sample=1)), 0)
    with RunRecord(folder) as record:
        record.write_step(0, [recorded_group(group, world.correct(group))], {"reward": 1.0})


def test_results_pages_show_the_files(look, address):
    looker = look(address)
    page = looker.open("#/results")
    assert page.locator("tbody th").all_inner_texts() == ["otc", "results/sides.json"]
    page.get_by_role("link", name="otc").click()
    page.wait_for_selector(".main-svg")
    claims = json.loads(OTC.read_text())["claims"]
    assert claims[0]["claim"]["text"] in page.locator(".group h2").all_inner_texts()
    assert page.locator("h1").inner_text() == "otc"
    page = looker.open("#/results/results%2Fsides.json")
    cells = page.locator("tbody tr").first.locator("th, td").all_inner_texts()
    assert cells == ["grpo", "1", "0.25", "[-0.5, 1]"]
    assert page.locator("main img").count() == 0 and "U+202E" in page.locator("tbody").inner_text()


def test_hostile_text_is_shown_without_effect(look, address):
    looker = look(address)
    for path in ("#/run/seed-0", "#/run/seed-0/step/3", "#/run/seed-0/rollout/10"):
        page = looker.open(path)
        page.wait_for_timeout(500)
        assert page.locator("main img, main script, main iframe").count() == 0
    marks = set(page.locator(".turns .mark").all_inner_texts())
    assert {
        "U+001B ESC",
        "U+202E RIGHT-TO-LEFT OVERRIDE",
        "U+2066 LEFT-TO-RIGHT ISOLATE",
        "U+200B ZERO WIDTH SPACE",
    } <= marks
    assert not re.search("[\x00-\x08\x1b\x7f-\x9f\u200b\u202e\u2066]", page.locator("body").inner_text())
    assert "<script>window.hacked=1</script>" in page.locator(".turns").inner_text()
    assert (
        "U+D800 LONE SURROGATE" in page.locator("aside").inner_html() or "\\ud800" in page.locator("aside").inner_html()
    )
    reply = page.locator(".call pre").nth(1)
    assert len(reply.inner_text()) < 5000 and "more of 999," in reply.inner_text()
    reply.get_by_role("button").click()
    assert 20_000 < len(reply.inner_text()) < 30_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_addresses_are_text(look, address):
    looker = look(address)
    page = looker.open("#/run/%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E")
    assert "cannot be shown" in page.locator("h1").inner_text() and page.locator("main img").count() == 0
    if address.startswith("http"):
        for _ in range(2):  # the second request follows the response to the first
            with page.expect_response("**/api/pulse?*"):
                pass
    assert page.locator(".offline").is_hidden()  # the server answered
    looker.errors = [line for line in looker.errors if "404" not in line]  # the server has no such run


def test_page_follows_a_run_during_training(look, serve, decode, viewed, tmp_path):
    with RunRecord.open(viewed / "seed-0") as record:
        (group,) = record.groups(step=0)
    with RunRecord(tmp_path / "live") as record, serve(tmp_path, decode) as address:
        for step in (0, 1, 2):
            if step == 2:
                page = look(address).open("#/run/live")
                expect(page.locator("form[role=search]")).to_contain_text("6 of 6 rollouts", timeout=PATIENCE)
                zoomed = _zoomed(page)
                page.locator("details.figures summary").click()
            record.write_step(step, [with_rollouts(group, replace(group.group, step=step))], {"reward": float(step)})
        expect(page.locator("form[role=search]")).to_contain_text("9 of 9 rollouts", timeout=PATIENCE)
        expect(page.locator("details.figures tbody tr")).to_have_count(3, timeout=PATIENCE)
        assert page.evaluate(RANGE) == zoomed


RANGE = "document.querySelector('.plot').layout.xaxis.range"


def _zoomed(page):
    """Zoom into a part of the chart by mouse; returns the range of the axis."""
    box = page.locator(".plot .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_function(f"{RANGE}?.[0] > 0.05")
    return page.evaluate(RANGE)


def test_lost_server_is_reported_until_it_is_back(look, served):
    looker = look(served)
    page = looker.open("#/run/seed-0")
    looker.page.route("**/api/pulse?*", lambda route: route.abort())
    expect(page.locator(".offline")).to_be_visible(timeout=PATIENCE)
    looker.page.unroute("**/api/pulse?*")
    expect(page.locator(".offline")).to_be_hidden(timeout=PATIENCE)
    looker.errors = [line for line in looker.errors if "ERR_FAILED" not in line]


def test_table_shows_an_error_of_the_server(look, served):
    looker = look(served)
    looker.page.route("**/api/rows?*", lambda route: route.fulfill(status=500, json={"error": "reading failed"}))
    page = looker.open("#/run/seed-0")
    expect(page.locator("form[role=search]")).to_contain_text("reading failed", timeout=PATIENCE)
    looker.errors = [line for line in looker.errors if "500" not in line]


def test_found_rollouts_are_downloaded(look, served):
    page = look(served).open("#/run/seed-0?first=2&last=2")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSONL").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 3


@pytest.mark.parametrize("way", list(LOOKS))
def test_pages_are_accessible(look, served, way):
    """axe finds no violation of WCAG 2.1 AA, contrast included, and no page is wider than its window."""
    package = pytest.importorskip("axe_playwright_python")
    axe = (Path(package.__file__).parent / "axe.min.js").read_text()
    looker = look(served, bypass_csp=True, **LOOKS[way])
    found = {}
    for name, path in PAGES.items():
        page = looker.open(path)
        if name in CHARTED:
            page.wait_for_selector(".main-svg")
        page.evaluate(axe)
        rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
        result = page.evaluate("rules => axe.run(document, {resultTypes: ['violations'], runOnly: rules})", rules)
        for one in result["violations"]:
            found[f"{name}: {one['id']}"] = [node["html"][:200] for node in one["nodes"][:3]]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[f"{name}: too wide"] = [path]
    assert not found
