"""Pages of the package miniwob in a real Chromium: read a page and click the requested element.

Kept: a browser world for users.
"""

from __future__ import annotations

import importlib.metadata
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
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
from handaxe.worlds.miniwob.elements import PAGES
from handaxe.worlds.miniwob.goals import END, LONG, Move, is_met, next_move, page_goals
from handaxe.worlds.miniwob.open_page import (
    OpenPage,
    PageState,
    PlayMemory,
    TypedPage,
    page_from_json,
    page_to_json,
    read_page,
)
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["miniwob"]

START = Start(DemonstrationNoise(corrupt_rate=0.1), skill=150, steps=20, batch_size=16, learning_rate=2e-3)
ONE_CLICK = ("click-button", "click-link", "click-dialog-2", "click-tab")
LONG_START = Start(skill=80, steps=0, batch_size=16, learning_rate=2e-3)
LONG_TURNS = 24
"""Turn limit of a demonstration of pages of several turns."""
LONG_CONTEXT = 1536
"""Context length of the start of pages of several turns."""
TEST_SHARE = 4
"""Number of instances per test instance."""


def miniwob(
    *,
    pages: tuple[str, ...] = ONE_CLICK,
    instances: int = 400,
    brief: bool = False,
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
            use-autocomplete-nodelay, book-flight-nodelay.
        instances: number of instances over all pages, 8 or more; about a quarter is in test. Longer task lists repeat
            instances. Instances with an ambiguous instruction are excluded.
        brief: reply with changed elements alone if the others keep their numbers.
        deadline: seconds for a page to open or answer; after the deadline the rollout ends as infra_error.

    Returns:
        A world broken down by "page", with the gauges clicks (actions) and raw (the page's own reward, -1 to 1), and
        the goals of a page as criteria: its fields, boxes, views, and the end. Tasks keep the first correct call as
        "gold_calls", and its place in pixels as "box".

    Raises:
        InputError: an argument out of range, or a missing package: miniwob and playwright (extra miniwob), Chromium.

    Example:
        'Click on the "ok" button.\\nbutton no [1]\\nbutton ok [2]' and click(2) -> "over, with reward 1"
    """
    known = (*PAGES, *LONG)
    unknown = sorted(set(pages) - set(known))
    if not pages or unknown or len(set(pages)) < len(pages) or instances < 8:
        raise InputError(
            f"pages are some of {', '.join(known)}, each once, and there are 8 instances or more: {pages}, {instances}"
        )
    long = [LONG[page] for page in pages if page in LONG]
    kind = TypedPage if any(page.types for page in long) else OpenPage
    own = (kind.click, TypedPage.type) if kind is TypedPage else (kind.click,)
    browser = Chromium(folder=pages_folder(), deadline=deadline)
    shelf, player = _Instances(browser, pages, instances), PlayMemory(browser)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        found = shelf.cycle(split, seed)
        return [_task(*next(found), f"miniwob-{split}-{seed}-{n}") for n in range(count)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        others = [one for one in tools if one not in own]
        # Raises early for bad tools, and bounds the number of open environments.
        probe = tool_chat([lambda: kind(player, "", 0, PageState("", ())), *others])

        def make(task: Task) -> Env:
            asked = task.metadata
            opened = kind(player, asked["page"], asked["seed"], page_from_json(asked), brief=brief)
            return _PageEnv(task, others, opened)

        return inherit_bound(make, probe)

    return World(
        name="miniwob",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one, "raw") == 1)),
        tools=own,
        breakdown=("page",),
        reference=reference_calls,
        expert=_expert,
        start=LONG_START if long else START,
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

    def __init__(self, browser: Chromium, pages: tuple[str, ...], count: int):
        self.browser = browser
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
            if not file.exists():
                self._folder.mkdir(exist_ok=True)
                with tempfile.TemporaryDirectory(dir=self._folder) as work:
                    made = Path(work) / "seen"
                    made.write_text(json.dumps(self.browser.play(page, seed, ())))
                    made.replace(file)
            self._known[number] = read_page(page, json.loads(file.read_text()))
        return self._known[number]


def _split(page: str, seen: PageState) -> Split:
    """Split by content, so that no question is in both splits."""
    return "test" if derive_seed("miniwob", page, seen.to_text()) % TEST_SHARE == 0 else "train"


def _twice(page: str, seen: PageState, first: Move) -> bool:
    """Whether an element of the instruction is there twice."""
    target = seen.elements[first.ref - 1]
    same = [one for one in seen.elements if (one.tag, one.text) == (target.tag, target.text)]
    if page in LONG:
        boxes = [one.text for one in seen.elements if one.tag == "input_checkbox"]
        return len(set(boxes)) < len(boxes)
    return len(same) > 1


def _task(page: str, seed: int, seen: PageState, first: Move, name: str) -> Task:
    call = _call(first)
    metadata = {
        "page": page,
        "seed": seed,
        **page_to_json(seen),
        "gold_calls": [{"name": call.name, "arguments": dict(call.arguments)}],
        "box": list(seen.elements[first.ref - 1].box),
    }
    return Task(name, (Message("user", seen.to_text()),), None, None, metadata)


def _call(move: Move) -> ToolCall:
    if move.text is None:
        return ToolCall("click", {"ref": move.ref})
    return ToolCall("type", {"ref": move.ref, "text": move.text})


def _expert(task: Task, facts: Facts) -> Message:
    shown = page_from_json(facts if "elements" in facts else task.metadata)
    move = next_move(task.metadata["page"], shown.query, shown.elements, facts.get("clicked", ()))
    if move is None or (call := _call(move)).name not in facts["tools"]:
        return Message("assistant", "I give up")
    return Message("assistant", "", (call,))


def _criteria(task: Task) -> list[Criterion]:
    goals = page_goals(task.metadata["page"], task.metadata["query"])
    return [Criterion(one.name, f"Done: {one.name}.") for one in goals if one.name]


def _check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria by the elements after each turn; met criteria stay met."""
    met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
    page = trajectory.task.metadata["page"]
    for n, turn in enumerate(trajectory.turns):
        if turn.facts:
            shown, done = page_from_json(turn.facts), turn.facts["clicked"]
            met_CN[:, n] = [
                turn.facts["raw"] == 1 if one.name == END else is_met(page, shown.query, one.name, shown.elements, done)
                for one in criteria
            ]
    return np.logical_or.accumulate(met_CN, axis=1)


def _final(one: Trajectory, name: str) -> Any:
    state = one.env["state"]
    return state[TypedPage.__name__ if TypedPage.__name__ in state else OpenPage.__name__][name]


class _PageEnv(AsyncEnvWrapper):
    """Conversation with tools until the page is over."""

    def __init__(self, task: Task, tools: Sequence[Any], page: OpenPage):
        super().__init__(tool_chat([lambda: page, *tools])(task))
        self._page = page

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._page.is_over, facts=self._page.facts())
