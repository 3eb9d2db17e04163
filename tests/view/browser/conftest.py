"""Fixtures for Chromium, served pages and a report file. Skipped without Chromium or Playwright."""

import contextlib
import shutil
import threading
import time

import pytest

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
PATIENCE = 90_000
"""Timeout of a page in milliseconds, for a busy machine."""


@pytest.fixture(scope="module")  # Playwright blocks asyncio loops of other tests in this process
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("chromium is missing: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextlib.contextmanager
def serving(folder, decoder):
    import uvicorn

    from handaxe.view.web import view_app

    server = uvicorn.Server(uvicorn.Config(view_app(folder, decoder), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    (address,) = {one.getsockname()[1] for part in server.servers for one in part.sockets}
    try:
        yield f"http://localhost:{address}/"
    finally:
        server.should_exit = True
        thread.join(timeout=30)


@pytest.fixture(scope="session")
def serve():
    return serving


@pytest.fixture(scope="session")
def decode():
    from handaxe.models.chat_formats.compact import Compact

    return lambda folder: Compact().decode


@pytest.fixture(scope="session")
def served(viewed, decode):
    with serving(viewed, decode) as address:
        yield address


@pytest.fixture(scope="session")
def reported(viewed, decode, tmp_path_factory):
    from handaxe.view.report_file import write_report

    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(viewed, file, decode)
    return file.as_uri()


class Looker:
    """A page that fails the test for requests to other hosts, and for errors of scripts."""

    def __init__(self, chromium, address, **context):
        self.address = address
        self.context = chromium.new_context(**{"viewport": {"width": 1366, "height": 850}} | context)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.requests, self.errors = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console", lambda line: self.errors.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))

    def open(self, path):
        """Open the page of a path and wait for its heading."""
        self.page.goto("about:blank")
        self.page.goto(self.address + path)
        self.page.wait_for_selector("main[aria-busy=false] h1")
        return self.page

    def check(self):
        """Assert that there was no error and no request to another host."""
        assert not self.errors
        own = self.address.split("#")[0]
        assert not [url for url in self.requests if not url.startswith((own, "data:", "blob:", "about:"))]
        assert self.page.evaluate("window.hacked") is None


@pytest.fixture
def look(chromium):
    """look(address, ...) -> Looker, checked at the end of the test."""
    made = []

    def start(address, **context):
        made.append(Looker(chromium, address, **context))
        return made[-1]

    yield start
    for one in made:
        one.check()
        one.context.close()
