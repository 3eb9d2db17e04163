"""Running page: contents as records, and the tools that act on it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from handaxe.core.errors import InfrastructureError, Retry
from handaxe.tools.decorator import tool
from handaxe.worlds.miniwob.browser import Action, Chromium
from handaxe.worlds.miniwob.elements import Element, format_changes, format_elements, list_elements
from handaxe.worlds.miniwob.goals import LONG

__all__ = ["OpenPage", "PageState", "PlayMemory", "TypedPage", "page_from_json", "page_to_json", "read_page"]

FIELDS = ("input_text", "input_password", "input_number", "textarea")
"""Tags of elements that take text."""
REMEMBERED = 10_000
"""Plays in memory."""


class PageState(NamedTuple):
    """Content of a page: instruction, elements, whether the page is over, and its reward at the end."""

    query: str
    elements: tuple[Element, ...]
    over: bool = False
    raw: float = 0.0

    def to_text(self) -> str:
        """Format the page for the policy."""
        return f"{self.query}\n{format_elements(self.elements)}"


class PlayMemory:
    """Plays of a browser, with a bounded memory: equal actions lead to equal states, and siblings share actions."""

    def __init__(self, browser: Chromium):
        self._browser = browser
        self._known: OrderedDict[tuple[str, int, tuple[Action, ...]], tuple[PageState, PageState]] = OrderedDict()

    async def play(self, page: str, seed: int, actions: Sequence[Action]) -> tuple[PageState, PageState]:
        """Contents before and after the last action."""
        key = page, seed, tuple(actions)
        found = self._known.get(key)
        if found is None:
            played = await self._browser.aplay(page, seed, actions)
            then = read_page(page, played)
            found = self._known[key] = PageState(then.query, _read_elements(page, played["before"])), then
            if len(self._known) > REMEMBERED:
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
    async def click(self, ref: Annotated[int, "the number in the list"]) -> str:
        """Click an element of the page. The reply is the page after the click."""
        target = self._element(ref)
        return await self._act((target.ref, None), target.text)

    def _element(self, ref: int) -> Element:
        now = self._history[-1]
        if now.over:
            raise Retry("the page is over")
        if not 1 <= ref <= len(now.elements):
            raise Retry(f"there is no element {ref}; there are 1 to {len(now.elements)}")
        return now.elements[ref - 1]

    async def _act(self, action: Action, *clicked: str) -> str:
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
    async def type(self, ref: Annotated[int, "the number in the list"], text: str) -> str:
        """Type a text into a field of the page; it replaces the old text."""
        target = self._element(ref)
        if not target.tag.startswith(FIELDS):
            raise Retry(f"element {ref} is no field")
        return await self._act((target.ref, text))


def _read_elements(page: str, tree: Mapping[str, Any]) -> tuple[Element, ...]:
    if page not in LONG:
        return tuple(list_elements(tree))
    return tuple(list_elements(tree, values=True, icons=LONG[page].icons))


def read_page(page: str, said: Mapping[str, Any]) -> PageState:
    """Read the content of a page from the result of a play."""
    return PageState(said["query"], _read_elements(page, said["tree"]), said["over"], said["raw"])


def page_to_json(seen: PageState) -> dict[str, Any]:
    """Convert to JSON."""
    return {"query": seen.query, "elements": [[*one[:4], list(one.box)] for one in seen.elements]}


def page_from_json(kept: Mapping[str, Any]) -> PageState:
    """Inverse of `page_to_json`."""
    return PageState(
        kept["query"], tuple(Element(one[0], one[1], one[2], one[3], tuple(one[4])) for one in kept["elements"])
    )
