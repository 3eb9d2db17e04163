"""Takes the pictures of docs/view.md: serves runs, opens their pages in Chromium, and writes what is seen.

    python bench/pictures.py RUNS [--out docs/view]

RUNS is a folder of runs, as `handaxe view` takes it; the first run in it with an attempt that was right is looked at.
Those of the docs were taken of three runs that `handaxe replicate otc` left, seeds 100 to 102.
"""

import argparse
import shutil
import sys
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import Page, expect, sync_playwright

from handaxe.commands.decoder import make_decoder
from handaxe.training.record.run_record import RunRecord
from handaxe.view.record_search import Where, search
from handaxe.view.runs import find_runs
from handaxe.view.web import view_app

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
LAPTOP = {"width": 1366, "height": 850}
PHONE = {"width": 390, "height": 800}


def main() -> int:
    """Take them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "view")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    server = uvicorn.Server(uvicorn.Config(view_app(options.runs, make_decoder), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        name, step, attempt = wanted(options.runs)
        for file, path, scheme, viewport in (
            ("runs", "", "light", LAPTOP),
            ("step", f"run/{name}/step/{step + 1}", "dark", LAPTOP),
            ("attempt", f"run/{name}/rollout/{attempt}?colour=advantage", "light", LAPTOP),
            ("phone", f"run/{name}/rollout/{attempt}?colour=push", "dark", PHONE),
        ):
            page = browser.new_page(color_scheme=scheme, viewport=viewport)
            page.set_default_timeout(120_000)
            page.goto(f"http://localhost:{port}/#/{path}")
            take(page, file == "runs", options.out / f"{file}.png")
            page.close()
        browser.close()
    server.should_exit = True
    return 0


def wanted(folder: Path) -> tuple[str, int, int]:
    """A run, a step and an attempt of it that made calls and got a gradient, if there is one."""
    for name, place in find_runs(folder).items():
        with RunRecord.open(place) as record:
            found = search(record, Where(trained=True, outcome="correct"), order="calls", descending=True, most=1)
        if found:
            return name, found[0].step, found[0].key
    raise SystemExit(f"no attempt in {folder} was right")


def take(page: Page, charted: bool, file: Path) -> None:
    """A picture of the page once it is drawn."""
    page.wait_for_selector("main[aria-busy=false] h1")
    if charted:
        page.get_by_label("mean and 95 % interval over seeds").check()
        expect(page.locator(".legendtext").first).to_contain_text("mean of", timeout=120_000)
    strong = page.locator(".tokens .p5, .tokens .n5")
    if strong.count():
        strong.first.click()
    page.wait_for_timeout(500)
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=file)


if __name__ == "__main__":
    sys.exit(main())
