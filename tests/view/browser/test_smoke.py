"""Smoke tests in Chromium; test_pages.py has the slow tests."""

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


def test_report_file_shows_runs_and_rollouts(look, reported):
    looker = look(reported)
    page = looker.open("#/run/seed-1")
    page.wait_for_selector(".dt-scroll-body tbody tr a")
    assert "11 of 11 rollouts" in page.locator("form[role=search]").inner_text()
    page = looker.open("#/run/seed-1/rollout/1")
    assert "found it" in page.locator(".call").inner_text()
