"""An exported log opened by `inspect view`, with its page in Chromium."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from handaxe.training.record.run_record import RunRecord
from handaxe.view.exports.chosen import chosen
from handaxe.view.exports.inspect_log import write_inspect
from handaxe.view.record_search import Where, keys

pytest.importorskip("inspect_ai", reason="inspect_ai is missing: pip install 'handaxe[inspect]'")
expect = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PATIENCE = 120.0
"""Timeout in seconds to start a server or to draw a page, for a busy machine."""


@contextlib.contextmanager
def inspect_view(logs):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).parent / "inspect"
    command = [str(program), "view", "start", "--log-dir", str(logs), "--port", str(port)]
    said = (logs.parent / "inspect.txt").open("w+")
    with said, subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT) as server:
        try:
            end = time.monotonic() + PATIENCE
            while not _answers(f"http://127.0.0.1:{port}/"):
                assert server.poll() is None and time.monotonic() < end, Path(said.name).read_text()
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


def _answers(address):
    try:
        with urllib.request.urlopen(address, timeout=60):
            return True
    except OSError:
        return False


def test_inspect_view_shows_an_exported_log(chromium, viewed, tmp_path):
    with RunRecord.open(viewed / "seed-0") as record:
        assert write_inspect(chosen(record, keys(record, Where())), tmp_path / "logs" / "run.eval", title="first") == 11
    with inspect_view(tmp_path / "logs") as address:
        page = chromium.new_page()
        page.set_default_timeout(1e3 * PATIENCE)
        page.goto(address)
        page.get_by_text("first").first.click()
        page.get_by_text("task-0").first.click()
        body = page.locator("body")
        for said in ("What is it, 0?", "found it", "it is caf\u00e9", "channel right"):
            expect(body).to_contain_text(said, timeout=1e3 * PATIENCE)
        page.go_back()
        page.get_by_text("evil <script>").first.click()
        expect(body).to_contain_text("\\u202eabc", timeout=1e3 * PATIENCE)
        assert page.evaluate("window.hacked") is None
        page.close()
