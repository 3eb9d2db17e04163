"""Pages of the package miniwob in a real Chromium: read a page and click the requested element.

Kept: a browser world for users.
"""

from __future__ import annotations

import importlib.metadata
import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.cache_path import cache_path
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.worlds.miniwob.browser import Chromium, pages_folder
from handaxe.worlds.miniwob.elements import PAGES, VISUAL, Element
from handaxe.worlds.miniwob.goals import END, LONG, Move, is_met, next_move, page_goals
from handaxe.worlds.miniwob.open_page import (
    OpenPage,
    PageState,
    PlayMemory,
    PointedPage,
    TypedPage,
    page_from_json,
    page_to_json,
    read_page,
)
from handaxe.worlds.miniwob.screenshots import Seen, View
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.met_by_turn import met_by_turn
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["miniwob"]

START = Start(DemonstrationNoise(corrupt_rate=0.1), skill=150, steps=20, batch_size=16, learning_rate=2e-3)
ONE_CLICK = ("click-button", "click-link", "click-dialog-2", "click-tab")
SEEING = Start(DemonstrationNoise(corrupt_rate=0.1), skill=50, steps=10, batch_size=32, learning_rate=3e-3)
LONG_START = Start(skill=80, steps=0, batch_size=16, learning_rate=2e-3)
LONG_TURNS = 24
"""Turn limit of a demonstration of pages of several turns."""
LONG_CONTEXT = 1536
"""Context length of the start of pages of several turns."""


def miniwob(
    *,
    pages: tuple[str, ...] = ONE_CLICK,
    instances: int = 400,
    brief: bool = False,
    seen: Seen = "elements",
    longest: int = 160,
    unit: int = 1,
    deadline: float = 60.0,
) -> World:
    """Pages of miniwob, a benchmark of small web tasks: click and type as instructed.

    A page creates an instance from a seed and decides itself whether an action is correct: a raw reward of 1. The
    policy reads the instruction and a list of visible elements, and acts by number with the tool `click`, and `type` if
    a page has fields. The browser restarts a page for every turn and repeats the previous actions, so that no rollout
    holds a tab while its policy generates: one browser with one tab per page serves all. Instances are loaded on first
    use and cached (HANDAXE_CACHE, or ~/.cache/handaxe).

    Args:
        pages: some of click-button, click-link, click-dialog, click-dialog-2, click-tab, which take one click, and
            click-option, click-checkboxes, click-collapsible and click-tab-2, which take several. Long: choose-date-
            nodelay, book-flight-nodelay, click-checkboxes-large, social-media-all, social-media-some. With typing:
            enter-text, enter-text-2, enter-password, login-user, login-user-popup, form-sequence-2, search-engine,
            use-autocomplete-nodelay, book-flight-nodelay. With a screenshot alone, since their instances differ in
            places: click-test, click-test-2, focus-text, focus-text-2, which take one click, and
            click-button-sequence, two.
        instances: number of instances over all pages, 8 or more; about a quarter is in test. Longer task lists repeat
            instances. Instances with an ambiguous instruction are excluded.
        brief: reply with changed elements alone if the others keep their numbers.
        seen: elements: the list of elements. marks: a screenshot, with the number of each element drawn on the element.
            pixels: a screenshot, and `click` takes a point in units of the shown image; no pages with fields to type
            into. The screenshot has the 160 by 160 pixels below the instruction, which the message has in words.
        longest: side of the shown image, 16 to 160 pixels; a tiny policy reads up to 128.
        unit: pixels of the shown image that are one step of a click's coordinates; a tiny policy learns single digits
            soonest, such as 32 pixels in units of 4.
        deadline: seconds for a page to open or answer; after the deadline the rollout ends as infra_error.

    Returns:
        A world broken down by "page", with the gauges clicks (actions) and raw (the page's own reward, -1 to 1), and
        the goals of a page as criteria: its fields, boxes, views, and the end. Tasks keep the first correct call as
        "gold_calls", and its place in pixels, or units of the screenshot, as "box".

    Raises:
        InputError: an argument out of range, or a missing package: miniwob and playwright (extra miniwob), Chromium.

    Example:
        'Click on the "ok" button.\\nbutton no [1]\\nbutton ok [2]' and click(2) -> "over, with reward 1"
    """
    view = None if seen == "elements" else View(seen, longest, unit).check()
    known = (*PAGES, *LONG, *(VISUAL if view else ()))
    unknown = sorted(set(pages) - set(known))
    if not pages or unknown or len(set(pages)) < len(pages) or instances < 8:
        raise InputError(
            f"pages are some of {', '.join(known)}, each once, and there are 8 instances or more: {pages}, {instances}"
        )
    long = [LONG[page] for page in pages if page in LONG]
    types = any(page.types for page in long)
    if seen == "pixels" and types:
        raise InputError(f"{', '.join(pages)} take text, and seen pixels has clicks alone: give seen marks or elements")
    kind = partial(PointedPage, view=view) if view and seen == "pixels" else TypedPage if types else OpenPage
    own = (PointedPage.click,) if seen == "pixels" else (OpenPage.click, TypedPage.type)[: 1 + types]
    browser = Chromium(folder=pages_folder(), deadline=deadline)
    shelf, player = _Instances(browser, pages, instances, view), PlayMemory(browser, view)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        found = shelf.cycle(split, seed)
        return [_task(*next(found), f"miniwob-{split}-{seed}-{n}", view) for n in range(count)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        others = [one for one in tools if one not in own]
        # Raises early for bad tools, and bounds the number of open environments.
        probe = tool_chat([lambda: kind(player, "", 0, PageState("", ())), *others])

        def make(task: Task) -> Env:
            asked = task.metadata
            shown = page_from_json(asked)
            if view is not None:
                shown = shown._replace(image=task.messages[0].images[0])
            return _PageEnv(task, others, kind(player, asked["page"], asked["seed"], shown, brief=brief))

        return inherit_bound(make, probe)

    return World(
        name="miniwob",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one, "raw") == 1)),
        tools=own,
        breakdown=("page",),
        reference=reference_calls,
        expert=partial(_expert, view=view),
        start=LONG_START if long else SEEING if view else START,
        start_model="tiny_vision" if view else "tiny",
        start_turns=LONG_TURNS if long else 8,
        start_context=LONG_CONTEXT if long else 512,
        criteria=_criteria,
        check=_check,
        gauges={
            "clicks": RatioMetric(lambda one, right: float(_final(one, "clicks"))),
            "raw": RatioMetric(lambda one, right: float(_final(one, "raw"))),
        },
    )


class _Instances:
    """Instances of pages by number, loaded on first use and cached."""

    def __init__(self, browser: Chromium, pages: tuple[str, ...], count: int, view: View | None):
        self.browser = browser
        self._view = view
        self._pages, self._count = pages, count
        self._folder = cache_path("miniwob", importlib.metadata.version("miniwob"))
        self._known: dict[int, PageState] = {}

    def cycle(self, split: Split, seed: int) -> Iterator[tuple[str, int, PageState, Move]]:
        """Cycle through a split's instances: page, seed, content, and first correct action.

        Raises:
            InputError: the split has no instance.
        """
        order, mine = list(range(self._count)), 0
        random.Random(derive_seed("miniwob instances", seed)).shuffle(order)
        while True:
            for number in order:
                page, drawn = self._pages[number % len(self._pages)], number // len(self._pages)
                seen = self._seen(number, page, drawn)
                first = next_move(page, seen.query, seen.elements, ())
                if first is not None and _split(page, seen) == split and not _twice(page, seen, first):
                    mine += 1
                    yield page, drawn, seen, first
            if not mine:
                raise InputError(f"none of {self._count} instances of {self._pages} is to {split}: have more of them")

    def _seen(self, number: int, page: str, seed: int) -> PageState:
        if number not in self._known:
            file = self._folder / f"{page}-{seed}.json"
            shot = file.with_suffix(".png")
            if not file.exists() or (self._view is not None and not shot.exists()):
                played = self.browser.play(page, seed, (), shot=self._view is not None)
                if png := played.pop("png", None):
                    self._keep(shot, png)
                self._keep(file, json.dumps(played).encode())
            found = json.loads(file.read_text())
            if self._view is not None:
                found["png"] = shot.read_bytes()
            self._known[number] = read_page(page, found, self._view)
        return self._known[number]

    def _keep(self, file: Path, content: bytes) -> None:
        """Write a file atomically, for concurrent processes."""
        self._folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as work:
            made = Path(work) / "seen"
            made.write_bytes(content)
            made.replace(file)


def _split(page: str, seen: PageState) -> Split:
    """Split by content, so that no question, and no image, is in both splits."""
    content = (page, seen.to_text()) if seen.image is None else (seen.image.digest,)
    return content_split("miniwob", *content)


def _twice(page: str, seen: PageState, first: Move) -> bool:
    """Whether an element of the instruction is there twice, or may be covered."""
    if page in VISUAL:
        return any(_covers(one, other) for one in seen.elements for other in seen.elements if one is not other)
    target = seen.elements[first.ref - 1]
    same = [one for one in seen.elements if (one.tag, one.text) == (target.tag, target.text)]
    if page in LONG:
        boxes = [one.text for one in seen.elements if one.tag == "input_checkbox"]
        return len(set(boxes)) < len(boxes)
    return len(same) > 1


def _covers(one: Element, other: Element) -> bool:
    """Whether the centre of the other element lies in an element."""
    x, y = (other.box[0] + other.box[2]) / 2, (other.box[1] + other.box[3]) / 2
    return one.box[0] <= x <= one.box[2] and one.box[1] <= y <= one.box[3]


def _task(page: str, seed: int, seen: PageState, first: Move, name: str, view: View | None) -> Task:
    call, box = _call(first, seen.elements, view), seen.elements[first.ref - 1].box
    metadata = {
        "page": page,
        "seed": seed,
        **page_to_json(seen),
        "gold_calls": [{"name": call.name, "arguments": dict(call.arguments)}],
        "box": list(box if view is None else view.to_shown(box)),
    }
    if seen.image is None:
        return Task(name, (Message("user", seen.to_text()),), None, None, metadata)
    return Task(name, (Message.of("user", f"{seen.query}\n", seen.image),), None, None, metadata)


def _call(move: Move, elements: Sequence[Element], view: View | None) -> ToolCall:
    if view is not None and view.seen == "pixels":
        x, y = view.middle(elements[move.ref - 1])
        return ToolCall("click", {"point": f"{x} {y}"})
    if move.text is None:
        return ToolCall("click", {"ref": move.ref})
    return ToolCall("type", {"ref": move.ref, "text": move.text})


def _expert(task: Task, facts: Facts, view: View | None = None) -> Message:
    shown = page_from_json(facts if "elements" in facts else task.metadata)
    move = next_move(task.metadata["page"], shown.query, shown.elements, facts.get("clicked", ()))
    if move is None or (call := _call(move, shown.elements, view)).name not in facts["tools"]:
        return Message("assistant", "I give up")
    return Message("assistant", "", (call,))


def _criteria(task: Task) -> list[Criterion]:
    goals = page_goals(task.metadata["page"], task.metadata["query"])
    return [Criterion(one.name, f"Done: {one.name}.") for one in goals if one.name]


def _check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria by the elements after each turn; met criteria stay met."""
    page = trajectory.task.metadata["page"]

    def met(facts: Facts) -> list[bool]:
        shown, done = page_from_json(facts), facts["clicked"]
        return [
            facts["raw"] == 1 if one.name == END else is_met(page, shown.query, one.name, shown.elements, done)
            for one in criteria
        ]

    return met_by_turn(trajectory, criteria, met)


def _final(one: Trajectory, name: str) -> Any:
    state: Mapping[str, Any] = one.env["state"]
    return next(state[kind.__name__] for kind in (OpenPage, TypedPage, PointedPage) if kind.__name__ in state)[name]


class _PageEnv(AsyncEnvWrapper):
    """Conversation with tools until the page is over."""

    def __init__(self, task: Task, tools: Sequence[Any], page: OpenPage):
        super().__init__(tool_chat([lambda: page, *tools])(task))
        self._page = page

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._page.is_over, facts=self._page.facts())
