"""Smoke tests in Chromium; test_pages.py has the slow tests."""

import os
import shutil

import pytest

pytestmark = pytest.mark.browser


def test_served_pages_show_runs_and_rollouts(look, served):
    looker = look(served)
    page = looker.open("#/")
    page.wait_for_selector("table.display tbody tr")
    assert page.locator(".dt-scroll-body tbody a").all_inner_texts() == ["seed-0", "seed-1"]
    page = looker.open("#/run/seed-0/rollout/1?token=0.60&colour=advantage")
    assert page.locator(".tok.chosen").count() == 1
    assert "found it" in page.locator(".call").inner_text()


@pytest.mark.slow
def test_report_file_shows_runs_and_rollouts(look, reported):
    looker = look(reported)
    page = looker.open("#/run/seed-1")
    page.wait_for_selector(".dt-scroll-body tbody tr a")
    assert "11 of 11 rollouts" in page.locator("form[role=search]").inner_text()
    page = looker.open("#/run/seed-1/rollout/1")
    assert "found it" in page.locator(".call").inner_text()


@pytest.mark.slow
def test_damaged_runs_and_results_are_listed_beside_the_others(look, serve, decode, viewed, tmp_path):
    folder = shutil.copytree(viewed, tmp_path / "folder")
    damaged = folder / os.fsdecode(b"caf\xe9<img src=x onerror='window.hacked=1'>")
    damaged.mkdir()
    (damaged / "record.sqlite").write_bytes(b"no database" * 100)
    shutil.copytree(viewed / "seed-0", folder / os.fsdecode(b"run \xff"))
    (folder / "results" / "deep.json").write_text('{"claims": 1, "curves": ' + "[" * 500 + "]" * 500 + "}")
    with serve(folder, decode) as address:
        looker = look(address)
        page = looker.open("#/")
        page.wait_for_selector("table.display tbody tr")
        assert page.locator(".dt-scroll-body tbody a").all_inner_texts() == [r"run \xff", "seed-0", "seed-1"]
        assert r"caf\xe9<img" in page.locator("section.damaged tbody th").inner_text()
        assert "is damaged, or not a run record" in page.locator("section.damaged tbody td").inner_text()
        page = looker.open("#/run/run%20%5Cxff/rollout/1")
        assert "found it" in page.locator(".call").inner_text()
        page = looker.open("#/results")
        assert "nests deeper than 64 levels" in page.locator("tbody tr", has_text="deep.json").inner_text()
        assert page.locator("tbody tr").count() == 3
        page = looker.open("#/results/results%2Fdeep.json")
        assert "nests deeper than 64 levels" in page.locator("p.why").inner_text()
