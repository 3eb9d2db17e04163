"""Pages of the package miniwob in a real Chromium: read a page and click the requested element.

Kept: a browser world for users.
"""

from __future__ import annotations

import importlib.metadata
import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError, Retry, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.cache_path import cache_path
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import tool
from handaxe.worlds.miniwob.browser import Chromium, pages_folder
from handaxe.worlds.miniwob.elements import PAGES, Element, format_elements, list_elements, next_click
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["OpenPage", "PageState", "miniwob"]

START = Start(DemonstrationNoise(corrupt_rate=0.1), skill=150, steps=20, batch_size=16, learning_rate=2e-3)
ONE_CLICK = ("click-button", "click-link", "click-dialog-2", "click-tab")
TEST_SHARE = 4
"""Number of instances per test instance."""


def miniwob(*, pages: tuple[str, ...] = ONE_CLICK, instances: int = 400, deadline: float = 60.0) -> World:
    """Pages of miniwob, a benchmark of small web tasks: click as instructed.

    A page creates an instance from a seed and decides itself whether a click is correct: a raw reward of 1. The policy
    reads the instruction and a list of visible elements, and clicks by number with the tool `click`. The browser
    restarts a page for every turn and repeats the previous clicks, so that no rollout holds a tab while its policy
    generates: one browser with one tab per page serves all. Instances are loaded on first use and cached
    (HANDAXE_CACHE, or ~/.cache/handaxe).

    Args:
        pages: some of click-button, click-link, click-dialog, click-dialog-2, click-tab, which take one click, and
            click-option, click-checkboxes, click-collapsible and click-tab-2, which take several.
        instances: number of instances over all pages, 8 or more; about a quarter is in test. Longer task lists repeat
            instances. Instances with an ambiguous instruction are excluded.
        deadline: seconds for a page to open or answer; after the deadline the rollout ends as infra_error.

    Returns:
        A world broken down by "page", with the gauges clicks and raw (the page's own reward, -1 to 1). Tasks keep the
        first correct click as "gold_calls", and its place in pixels as "box".

    Raises:
        InputError: an argument out of range, or a missing package: miniwob and playwright (extra miniwob), Chromium.

    Example:
        'Click on the "ok" button.\\nbutton no [1]\\nbutton ok [2]' and click(2) -> "over, with reward 1"
    """
    unknown = sorted(set(pages) - set(PAGES))
    if not pages or unknown or len(set(pages)) < len(pages) or instances < 8:
        raise InputError(
            f"pages are some of {', '.join(PAGES)}, each once, and there are 8 instances or more: {pages}, {instances}"
        )
    shelf = _Instances(Chromium(folder=pages_folder(), deadline=deadline), pages, instances)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        found = shelf.cycle(split, seed)
        return [_task(*next(found), f"miniwob-{split}-{seed}-{n}") for n in range(count)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        others = [one for one in tools if one is not OpenPage.click]
        # Raises early for bad tools, and bounds the number of open environments.
        probe = tool_chat([lambda: OpenPage(shelf.browser, "", 0, PageState("", ())), *others])

        def make(task: Task) -> Env:
            asked = task.metadata
            opened = OpenPage(shelf.browser, asked["page"], asked["seed"], _shown(asked))
            return _PageEnv(task, others, opened)

        return inherit_bound(make, probe)

    return World(
        name="miniwob",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one, "raw") == 1)),
        tools=(OpenPage.click,),
        breakdown=("page",),
        reference=reference_calls,
        expert=_expert,
        start=START,
        gauges={
            "clicks": RatioMetric(lambda one, right: float(_final(one, "clicks"))),
            "raw": RatioMetric(lambda one, right: float(_final(one, "raw"))),
        },
    )


class PageState(NamedTuple):
    """Content of a page: instruction, elements, whether the page is over, and its reward at the end."""

    query: str
    elements: tuple[Element, ...]
    over: bool = False
    raw: float = 0.0

    def to_text(self) -> str:
        """Format the page for the policy."""
        return f"{self.query}\n{format_elements(self.elements)}"


class OpenPage:
    """Running page with a tool `click`. A snapshot is the list of clicks.

    Args:
        browser: plays the page.
        page, seed: page and seed of its instance.
        shown: first content of the page.
    """

    def __init__(self, browser: Chromium, page: str, seed: int, shown: PageState):
        self._browser = browser
        self._page, self._seed = page, seed
        self._history = [shown]
        self._refs: list[int] = []
        self._clicked: list[str] = []

    @tool(timeout=None, max_chars=2_000)
    async def click(self, ref: Annotated[int, "the number in the list"]) -> str:
        """Click an element of the page; it says what is on the page then."""
        now = self._history[-1]
        if now.over:
            raise Retry("the page is over")
        if not 1 <= ref <= len(now.elements):
            raise Retry(f"there is no element {ref}; there are 1 to {len(now.elements)}")
        target = now.elements[ref - 1]
        refs = [*self._refs, target.ref]
        played = await self._browser.aplay(self._page, self._seed, refs)
        then = _seen(played)
        unclicked = PageState(then.query, tuple(list_elements(played["before"])))
        if unclicked.to_text() != now.to_text():
            raise InfrastructureError(
                f"page {self._page!r} with seed {self._seed} showed {now.to_text()!r} and now shows "
                f"{unclicked.to_text()!r}: "
                "delete the folder miniwob of the cache (HANDAXE_CACHE, or ~/.cache/handaxe)"
            )
        self._refs, self._clicked = refs, [*self._clicked, target.text]
        self._history.append(then)
        return f"over, with reward {then.raw:g}" if then.over else format_elements(then.elements)

    @property
    def is_over(self) -> bool:
        """Whether the page has given its reward."""
        return self._history[-1].over

    def facts(self) -> dict[str, Any]:
        """The state, as JSON: visible elements, and texts of the clicks."""
        return {**_state_to_json(self._history[-1]), "clicked": list(self._clicked)}

    def report(self) -> Mapping[str, Any]:
        """Final state."""
        now = self._history[-1]
        return {"over": now.over, "raw": now.raw, "clicks": len(self._refs)}

    def snapshot(self) -> Any:
        """Clicks and contents so far."""
        return list(self._history), list(self._refs), list(self._clicked)

    def restore(self, state: Any) -> None:
        """Restore a snapshot. The next click repeats its clicks."""
        history, refs, clicked = state
        self._history = list(history)
        self._refs, self._clicked = list(refs), list(clicked)


class _Instances:
    """Instances of pages by number, loaded on first use and cached."""

    def __init__(self, browser: Chromium, pages: tuple[str, ...], count: int):
        self.browser = browser
        self._pages, self._count = pages, count
        self._folder = cache_path("miniwob", importlib.metadata.version("miniwob"))
        self._known: dict[int, PageState] = {}

    def cycle(self, split: Split, seed: int) -> Iterator[tuple[str, int, PageState, int]]:
        """Cycle through a split's instances: page, seed, content, and first correct click.

        Raises:
            InputError: the split has no instance.
        """
        order, mine = list(range(self._count)), 0
        random.Random(derive_seed("miniwob instances", seed)).shuffle(order)
        while True:
            for number in order:
                page, drawn = self._pages[number % len(self._pages)], number // len(self._pages)
                seen = self._seen(number, page, drawn)
                first = next_click(page, seen.query, seen.elements, ())
                if first is not None and _split(page, seen) == split and not _twice(seen, first):
                    mine += 1
                    yield page, drawn, seen, first
            if not mine:
                raise InputError(f"none of {self._count} instances of {self._pages} is to {split}: have more of them")

    def _seen(self, number: int, page: str, seed: int) -> PageState:
        if number not in self._known:
            file = self._folder / f"{page}-{seed}.json"
            if not file.exists():
                self._folder.mkdir(exist_ok=True)
                with tempfile.TemporaryDirectory(dir=self._folder) as work:
                    made = Path(work) / "seen"
                    made.write_text(json.dumps(self.browser.play(page, seed, ())))
                    made.replace(file)
            self._known[number] = _seen(json.loads(file.read_text()))
        return self._known[number]


def _split(page: str, seen: PageState) -> Split:
    """Split by content, so that no question is in both splits."""
    return "test" if derive_seed("miniwob", page, seen.to_text()) % TEST_SHARE == 0 else "train"


def _twice(seen: PageState, first: int) -> bool:
    target = seen.elements[first - 1]
    return sum((one.tag, one.text) == (target.tag, target.text) for one in seen.elements) > 1


def _task(page: str, seed: int, seen: PageState, first: int, name: str) -> Task:
    gold = [{"name": "click", "arguments": {"ref": first}}]
    metadata = {
        "page": page,
        "seed": seed,
        **_state_to_json(seen),
        "gold_calls": gold,
        "box": list(seen.elements[first - 1].box),
    }
    return Task(name, (Message("user", seen.to_text()),), None, None, metadata)


def _seen(said: Mapping[str, Any]) -> PageState:
    return PageState(said["query"], tuple(list_elements(said["tree"])), said["over"], said["raw"])


def _state_to_json(seen: PageState) -> dict[str, Any]:
    """Convert to JSON."""
    return {"query": seen.query, "elements": [[*one[:4], list(one.box)] for one in seen.elements]}


def _shown(kept: Mapping[str, Any]) -> PageState:
    return PageState(
        kept["query"], tuple(Element(one[0], one[1], one[2], one[3], tuple(one[4])) for one in kept["elements"])
    )


def _expert(task: Task, facts: Facts) -> Message:
    shown = _shown(facts if "elements" in facts else task.metadata)
    ref = next_click(task.metadata["page"], shown.query, shown.elements, facts.get("clicked", ()))
    if ref is None or "click" not in facts["tools"]:
        return Message("assistant", "I give up")
    return Message("assistant", "", (ToolCall("click", {"ref": ref}),))


def _final(one: Trajectory, name: str) -> Any:
    return one.env["state"]["OpenPage"][name]


class _PageEnv(AsyncEnvWrapper):
    """Conversation with tools until the page is over."""

    def __init__(self, task: Task, tools: Sequence[Any], page: OpenPage):
        super().__init__(tool_chat([lambda: page, *tools])(task))
        self._page = page

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._page.is_over, facts=self._page.facts())
