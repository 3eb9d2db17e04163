"""Pages of the package miniwob in a persistent headless Chromium.

The package's own gymnasium environments are not used for four reasons. Each holds a browser and a chromedriver, which
outlive a killed program. Each starts its browser without a sandbox for every user. A rollout ends ten seconds after its
start, however slow the policy is. A click takes six requests instead of one. Pages, generators, list of elements,
click method and reward are the package's.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib.util
import os
import shutil
import threading
import weakref
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError

__all__ = ["Action", "Chromium", "pages_folder"]

NAMES = ("chromium", "chromium-browser", "google-chrome")
STARTING = 120.0
"""Time limit of a browser's start, in seconds."""
CLOSING = 20.0
"""Time limit for closing a tab or browser, in seconds."""
CLIP = {"x": 0, "y": 0, "width": 160, "height": 210}
"""Part of a page in a screenshot, in pixels."""
DAY = 24 * 60 * 60 * 1000
PLAY = """([seed, actions, longest]) => {
    const type = (ref, text) => {
        const field = core.previousDOMInfo[ref];
        field.focus();
        if (field.disabled || field.readOnly) return true;
        field.value = text;
        const widget = window.jQuery && jQuery(field);
        if (widget && (widget.data('ui-autocomplete') || widget.data('uiAutocomplete'))) widget.autocomplete('search');
        else for (const name of ['input', 'keyup', 'change']) field.dispatchEvent(new Event(name, {bubbles: true}));
        return true;
    };
    const press = (x, y) => {
        const target = document.elementFromPoint(x, y);
        if (target === null) return true;
        const send = (name) => target.dispatchEvent(
            new MouseEvent(name, {bubbles: true, cancelable: true, view: window, clientX: x, clientY: y}));
        send('mousedown');
        const field = target.closest('input, textarea, select, button, a');
        if (field) field.focus();
        if (WOB_DONE_GLOBAL) return true;
        send('mouseup');
        send('click');
        return true;
    };
    const act = ([ref, text]) => {
        if (Array.isArray(ref)) return press(...ref);
        return text === null ? core.elementClick(ref) : type(ref, text);
    };
    const reset = () => {
        if (document.activeElement) document.activeElement.blur();
        if (!window.jQuery) return;
        jQuery('.hasDatepicker').each((_, field) => {
            jQuery(field).datepicker('hide');
            jQuery.data(field, 'datepicker').lastVal = null;
        });
        jQuery('.ui-autocomplete-input').each((_, field) => { jQuery(field).autocomplete('close'); });
        jQuery('.ui-helper-hidden-accessible').empty();
    };
    core.EPISODE_MAX_TIME = longest;
    if (window.jQuery) jQuery.fx.off = true;
    core.endEpisode(0);
    reset();
    Math.seedrandom(seed);
    core.setDataMode('train');
    core.startEpisodeReal();
    let tree = core.getDOMInfo(), before = tree;
    for (const action of actions) {
        before = tree;
        if (WOB_DONE_GLOBAL) throw new Error('a click after the end');
        const clicked = act(action);
        if (clicked !== true) throw new Error('element ' + action[0] + ' cannot be clicked: ' + clicked);
        if (!WOB_DONE_GLOBAL) tree = core.getDOMInfo();
    }
    const over = WOB_DONE_GLOBAL;
    return {query: core.getUtterance(), before, tree, over, raw: over ? WOB_RAW_REWARD_GLOBAL : 0};
}"""
"""Restart the page by its seed, click and type. The clock does not matter, so that equal actions lead to equal states:
the page has a day instead of its seconds, delayed content is there at once, and widgets of jQuery, which outlive a
restart, lose focus, suggestions and month. Text replaces a field's value; disabled and read-only fields keep theirs.
"""
Action = tuple[int | tuple[int, int], str | None]
"""The page's own number of an element, and the text to type; None for a click. For a click on a point: x and y in
pixels of the page, and None.
"""


def pages_folder() -> Path:
    """Find the folder of miniwob's pages.

    Raises:
        InputError: miniwob or Playwright is not installed (extra miniwob).
    """
    missing = [name for name in ("miniwob", "playwright") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"pages need {' and '.join(missing)}: pip install 'handaxe[miniwob]'")
    spec = importlib.util.find_spec("miniwob")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "html" / "miniwob"


class Chromium:
    """Browser with a tab per page, started on first use. Callers take turns at a tab, so the number of rollouts is
    unlimited. The browser ends with `close`, with this object, with the program, and with a killed program, since
    Playwright's driver then closes the browser.

    Args:
        folder: folder of the pages, NAME.html each.
        deadline: seconds for a page to open or answer, without the wait for a tab.

    Raises:
        InputError: a deadline not above 0, or no Chromium.
    """

    def __init__(self, *, folder: Path, deadline: float):
        if not deadline > 0:
            raise InputError(f"a deadline of {deadline} seconds leaves a page no time; give more than 0")
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise InputError("pages are played in Chromium, which is missing: apt-get install chromium")
        self._settings = program, folder, deadline
        self._lock = threading.Lock()
        self._tabs: _Tabs | None = None
        self._ending: weakref.finalize | None = None

    def play(self, page: str, seed: int, actions: Sequence[Action], *, shot: bool = False) -> dict[str, Any]:
        """Start a page, and click elements or points, or type into elements.

        Args:
            page: name of the page.
            seed: of its instance.
            actions: in order.
            shot: take a screenshot of a page that is not over.

        Returns:
            "query", "tree" (see `miniwob_elements`; the last tree before the end), "before" (the tree before the last
            action), "over", "raw", the page's reward from -1 to 1, 0 before the end, and with `shot` "png", the
            screenshot of 160 by 210 pixels; b"" for a page that is over.

        Raises:
            InfrastructureError: the browser does not start, or the page fails or does not answer in time.
        """
        work = self._begin(page, seed, actions, shot)
        try:
            return work.result()
        finally:
            work.cancel()  # matters only after an interrupted wait

    async def aplay(self, page: str, seed: int, actions: Sequence[Action], *, shot: bool = False) -> dict[str, Any]:
        """As `play`, from any event loop. Cancellable."""
        return await asyncio.wrap_future(self._begin(page, seed, actions, shot))

    def close(self) -> None:
        """Close the browser; the next page starts another browser."""
        with self._lock:
            if self._ending is not None:
                self._ending()
            self._tabs = self._ending = None

    def _begin(
        self, page: str, seed: int, actions: Sequence[Action], shot: bool
    ) -> concurrent.futures.Future[dict[str, Any]]:
        with self._lock:
            if self._tabs is None:
                self._tabs = _Tabs(*self._settings)
                self._ending = weakref.finalize(self, self._tabs.end)
            tabs = self._tabs
        return asyncio.run_coroutine_threadsafe(tabs.play(page, seed, [list(one) for one in actions], shot), tabs.loop)


class _Tabs:
    """The browser on an event loop in a separate thread, as Playwright requires."""

    def __init__(self, program: str, folder: Path, deadline: float):
        self._program, self._folder = program, folder
        self._deadline = deadline
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._starting = asyncio.Lock()
        self._closing = False
        self._driver: Any = None
        self._browser: Any = None
        self._open: dict[str, Any] = {}
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True, name="handaxe-miniwob")
        self._thread.start()

    async def play(self, page: str, seed: int, actions: list[list[Any]], shot: bool) -> dict[str, Any]:
        async with self._turns[page]:
            try:
                # An aborted start would leave processes behind.
                await asyncio.shield(self.loop.create_task(self._run()))
                async with asyncio.timeout(self._deadline):
                    tab = await self._tab(page)
                    played: dict[str, Any] = await tab.evaluate(PLAY, [seed, actions, DAY])
                    if shot:
                        played["png"] = b"" if played["over"] else await tab.screenshot(clip=CLIP)
                    return played
            except TimeoutError:
                await self._drop(page)
                raise InfrastructureError(f"page {page!r} gave no answer within {self._deadline:g} seconds") from None
            except BaseException as error:
                await self._drop(page)
                if not isinstance(error, Exception):
                    raise
                said = str(error).strip().partition("\n")[0][:300]
                raise InfrastructureError(f"page {page!r} of miniwob cannot be played: {said}") from error

    def end(self) -> None:
        """Close the browser and end the thread."""
        closing = asyncio.run_coroutine_threadsafe(self._close(), self.loop)
        # Garbage collection may run on the loop's own thread, which cannot wait for itself.
        if threading.current_thread() is not self._thread:
            with contextlib.suppress(Exception):
                closing.result(3 * CLOSING)
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(CLOSING)
        else:
            closing.add_done_callback(lambda _: self.loop.call_soon_threadsafe(self.loop.stop))

    async def _tab(self, page: str) -> Any:
        if page not in self._open:
            # No network access: the pages are files.
            tab = await self._browser.new_page(offline=True)
            self._open[page] = tab
            await tab.goto((self._folder / f"{page}.html").as_uri(), timeout=0)
        return self._open[page]

    async def _run(self) -> None:
        """Start the browser if necessary."""
        from playwright.async_api import async_playwright

        async with self._starting:
            if self._closing:
                raise InfrastructureError("the browser was closed")
            if self._browser is not None and self._browser.is_connected():
                return
            await self._stop()
            self._driver = await async_playwright().start()
            # Chromium refuses its sandbox to root.
            self._browser = await self._driver.chromium.launch(
                executable_path=self._program,
                chromium_sandbox=os.geteuid() != 0,
                args=["--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-partial-raster"],
                timeout=1000 * STARTING,
            )

    async def _drop(self, page: str) -> None:
        """Close a tab, or the whole browser if the tab does not close."""
        tab = self._open.pop(page, None)
        if tab is not None and not await _ended(tab.close()):
            await self._stop()

    async def _stop(self) -> None:
        """Abandon the browser and its driver; the end of the driver closes the browser."""
        browser, driver = self._browser, self._driver
        self._browser = self._driver = None
        self._open.clear()
        if browser is not None:
            await _ended(browser.close())
        if driver is not None:
            await _ended(driver.stop())

    async def _close(self) -> None:
        self._closing = True
        async with self._starting:
            await self._stop()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=CLOSING)


async def _ended(closing: Any) -> bool:
    """Whether something was closed in time or already gone."""
    try:
        async with asyncio.timeout(CLOSING):
            await closing
    except TimeoutError:
        return False
    except Exception:
        return True
    return True
