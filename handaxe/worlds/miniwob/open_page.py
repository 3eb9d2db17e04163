"""Running page: contents as records, and the tools that act on it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from handaxe.core.errors import InfrastructureError, Retry
from handaxe.core.images import Image
from handaxe.rewards.parts.points import parse_point
from handaxe.tools.decorator import tool
from handaxe.worlds.miniwob.browser import Action, Chromium
from handaxe.worlds.miniwob.elements import Element, format_changes, format_elements, list_elements
from handaxe.worlds.miniwob.goals import LONG
from handaxe.worlds.miniwob.screenshots import View

__all__ = [
    "OpenPage",
    "PageState",
    "PlayMemory",
    "PointedPage",
    "TypedPage",
    "page_from_json",
    "page_to_json",
    "read_page",
]

FIELDS = ("input_text", "input_password", "input_number", "textarea")
"""Tags of elements that take text."""
MOST_ACTIONS = 50
"""Actions on a page. Each action repeats all before, so that the time of a page grows with the square."""
REMEMBERED = 10_000
"""Plays in memory."""
PIXELS = 64_000_000
"""Pixels of their images in memory, of 3 bytes each."""


class PageState(NamedTuple):
    """Content of a page: instruction, elements, whether the page is over, its reward at the end, and the image that the
    policy sees, if any.
    """

    query: str
    elements: tuple[Element, ...]
    over: bool = False
    raw: float = 0.0
    image: Image | None = None

    def to_text(self) -> str:
        """Format the page for the policy."""
        return f"{self.query}\n{format_elements(self.elements)}"


class PlayMemory:
    """Plays of a browser, with a bounded memory: equal actions lead to equal states, and siblings share actions.

    Args:
        browser: plays the pages.
        view: what the policy sees; None: no screenshots.
    """

    def __init__(self, browser: Chromium, view: View | None = None):
        self._browser = browser
        self._view = view
        self._most = REMEMBERED if view is None else min(REMEMBERED, PIXELS // view.longest**2)
        self._known: OrderedDict[tuple[str, int, tuple[Action, ...]], tuple[PageState, PageState]] = OrderedDict()

    async def play(self, page: str, seed: int, actions: Sequence[Action]) -> tuple[PageState, PageState]:
        """Contents before and after the last action."""
        key = page, seed, tuple(actions)
        found = self._known.get(key)
        if found is None:
            played = await self._browser.aplay(page, seed, actions, shot=self._view is not None)
            then = read_page(page, played, self._view)
            found = self._known[key] = PageState(then.query, _read_elements(page, played["before"])), then
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return found


class OpenPage:
    """Running page with a tool `click`. A snapshot is the list of actions.

    Args:
        player: plays the page.
        page, seed: page and seed of its instance.
        shown: first content of the page.
        brief: see `miniwob`.
    """

    def __init__(self, player: PlayMemory, page: str, seed: int, shown: PageState, *, brief: bool = False):
        self._player = player
        self._page, self._seed = page, seed
        self._brief = brief
        self._history = [shown]
        self._actions: list[Action] = []
        self._clicked: list[str] = []

    @tool(timeout=None, max_chars=2_000)
    async def click(self, ref: Annotated[int, "the number in the list"]) -> str | Image:
        """Click an element of the page. The reply is the page after the click."""
        target = self._element(ref)
        return await self._act((target.ref, None), target.text)

    def _now(self) -> PageState:
        now = self._history[-1]
        if now.over:
            raise Retry("the page is over")
        if len(self._actions) >= MOST_ACTIONS:
            raise Retry(f"the page takes {MOST_ACTIONS} actions, and all are used")
        return now

    def _element(self, ref: int) -> Element:
        now = self._now()
        if not 1 <= ref <= len(now.elements):
            raise Retry(f"there is no element {ref}; there are 1 to {len(now.elements)}")
        return now.elements[ref - 1]

    async def _act(self, action: Action, *clicked: str) -> str | Image:
        now, actions = self._history[-1], [*self._actions, action]
        before, then = await self._player.play(self._page, self._seed, actions)
        if before.to_text() != now.to_text():
            raise InfrastructureError(
                f"page {self._page!r} with seed {self._seed} showed {now.to_text()!r} and now shows "
                f"{before.to_text()!r}: "
                "delete the folder miniwob of the cache (HANDAXE_CACHE, or ~/.cache/handaxe)"
            )
        self._actions, self._clicked = actions, [*self._clicked, *clicked]
        self._history.append(then)
        if then.over:
            return f"over, with reward {then.raw:g}"
        if then.image is not None:
            return then.image
        return format_changes(now.elements, then.elements) if self._brief else format_elements(then.elements)

    @property
    def is_over(self) -> bool:
        """Whether the page has given its reward."""
        return self._history[-1].over

    def facts(self) -> dict[str, Any]:
        """The state, as JSON: visible elements, texts of the clicks, and the page's reward."""
        now = self._history[-1]
        return {**page_to_json(now), "clicked": list(self._clicked), "raw": now.raw}

    def report(self) -> Mapping[str, Any]:
        """Final state."""
        now = self._history[-1]
        return {"over": now.over, "raw": now.raw, "clicks": len(self._actions)}

    def snapshot(self) -> Any:
        """Actions and contents so far."""
        return list(self._history), list(self._actions), list(self._clicked)

    def restore(self, state: Any) -> None:
        """Restore a snapshot. The next action repeats its actions."""
        history, actions, clicked = state
        self._history = list(history)
        self._actions, self._clicked = list(actions), list(clicked)


class TypedPage(OpenPage):
    """Running page with the tools `click` and `type`."""

    @tool(timeout=None, max_chars=2_000)
    async def type(self, ref: Annotated[int, "the number in the list"], text: str) -> str | Image:
        """Type a text into a field of the page; it replaces the old text."""
        target = self._element(ref)
        if not target.tag.startswith(FIELDS):
            raise Retry(f"element {ref} is no field")
        return await self._act((target.ref, text))


class PointedPage(OpenPage):
    """Running page with the tool `click` on a point of its screenshot.

    Args:
        player, page, seed, shown, brief: see `OpenPage`.
        view: size and units of the screenshot.
    """

    def __init__(self, player: PlayMemory, page: str, seed: int, shown: PageState, *, view: View, brief: bool = False):
        super().__init__(player, page, seed, shown, brief=brief)
        self._view = view

    @tool(timeout=None)
    async def click(  # type: ignore[override]
        self, point: Annotated[str, 'units from the left and from above, such as "3 5"']
    ) -> str | Image:
        """Click a point of the page. The reply is the page after the click."""
        now, given = self._now(), parse_point(point)
        if given is None or not all(0 <= one < self._view.side for one in given):
            raise Retry(f'give two numbers from 0 to {self._view.side - 1}, such as "3 5"')
        at = self._view.to_page(int(given[0]), int(given[1]))
        hit = [one.text for one in now.elements if _contains(one, at)]
        return await self._act((at, None), *hit[-1:])


def _contains(element: Element, point: tuple[int, int]) -> bool:
    left, top, right, bottom = element.box
    return left <= point[0] < right and top <= point[1] < bottom


def _read_elements(page: str, tree: Mapping[str, Any]) -> tuple[Element, ...]:
    if page not in LONG:
        return tuple(list_elements(tree))
    return tuple(list_elements(tree, values=True, icons=LONG[page].icons))


def read_page(page: str, said: Mapping[str, Any], view: View | None = None) -> PageState:
    """Read the content of a page from the result of a play; with a view, from a play with a screenshot."""
    elements = _read_elements(page, said["tree"])
    image = None if view is None or said["over"] else view.show(said["png"], elements)
    return PageState(said["query"], elements, said["over"], said["raw"], image)


def page_to_json(seen: PageState) -> dict[str, Any]:
    """Convert to JSON."""
    return {"query": seen.query, "elements": [[*one[:4], list(one.box)] for one in seen.elements]}


def page_from_json(kept: Mapping[str, Any]) -> PageState:
    """Inverse of `page_to_json`."""
    return PageState(
        kept["query"], tuple(Element(one[0], one[1], one[2], one[3], tuple(one[4])) for one in kept["elements"])
    )
