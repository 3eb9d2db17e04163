"""Bare miniwob: clicks on a calendar in a persistent tab, without a restart of the page for every turn."""

from __future__ import annotations

import time

__all__ = ["steps"]

LOOP = """(count) => {
    if (window.jQuery) jQuery.fx.off = true;
    core.EPISODE_MAX_TIME = 86400000;
    core.endEpisode(0);
    Math.seedrandom(0);
    core.startEpisodeReal();
    jQuery('#datepicker').datepicker('show');
    for (let n = 0; n < count; n++) {
        core.getDOMInfo();
        document.querySelector(n % 22 < 11 ? '.ui-datepicker-prev' : '.ui-datepicker-next').click();
    }
}"""


def steps(seconds: float) -> tuple[int, float]:
    """Click for about `seconds`; returns (steps, seconds)."""
    import shutil

    from playwright.sync_api import sync_playwright

    from handaxe.worlds.miniwob.browser import pages_folder

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu"])
        tab = browser.new_page(offline=True)
        tab.goto((pages_folder() / "choose-date-nodelay.html").as_uri())
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            tab.evaluate(LOOP, 44)
            count += 44
        took = time.perf_counter() - begun
        browser.close()
    return count, took
