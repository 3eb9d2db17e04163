"""Pages of documents: find a slip, zoom, read it by the fitting tool, look it up, and add."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.used_tools import used_tools
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.ocr import ocr
from handaxe.tools.read_code import read_code
from handaxe.worlds.documents.page import (
    Article,
    DocumentPage,
    Form,
    Slip,
    Stamp,
    draw_page,
    draw_registry,
    place_slips,
    shrink_page,
)
from handaxe.worlds.documents.pictures import article_picture, image_search
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.call_metrics import REPEATED_CALLS, wasted_calls
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.plates.zoom import ZOOM, last_zoom, zoom_env
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["DETAIL", "Kind", "Seen", "documents", "page_of", "slip_iou"]

Kind = Literal["number", "price", "total"]
Seen = Literal["place", "stamp"]
QUESTIONS: dict[Kind, str] = {"number": "red?", "price": "red price?", "total": "red total?"}
START = Start(
    DemonstrationNoise(call_rate=0.9, spurious_rate=0.3, corrupt_rate=0.05),
    skill=200,
    steps=20,
    batch_size=16,
    learning_rate=2e-3,
)
DETAIL = 128
"""Enlargement of a zoom before its text is detected; enough for two lines."""
SHOWN_NUMBER = 2
"""Number of the zoom in the conversation; the overview is number 1."""
READERS: dict[Form, str] = {"printed": "ocr", "coded": "read_code", "pictured": "image_search"}
"""Tool of each form of a slip."""
LEAST = 40
"""Articles of a registry, so that both splits have five or more."""
MOST = 800


def documents(
    *,
    kinds: tuple[Kind, ...] = ("number", "price", "total"),
    forms: tuple[Form, ...] = ("printed", "coded", "pictured"),
    seen: tuple[Seen, ...] = ("place",),
    needed: float = 0.75,
    wasteful: float = 0.0,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Pages of five coloured slips with numbers, codes or pictures, and a stamp; the question is about the red slip.

    The overview of 32 by 32 pixels shows the places of slips and stamp, without readable text. `zoom` shows a
    slip at 32 by 32 pixels. `ocr` reads number and price of a printed slip, `read_code` the number of a coded one, and
    `image_search`, offered with the form "pictured", the number of the article with the most similar picture, each from
    the image of the zoom. `search` finds price and postage of an article in the registry, and `calculator` adds.

        question    answer              calls of a printed slip         calls of a coded slip
        red at?     left and top        none                            none
        stamp at?   left and top        none                            none
        red?        number              zoom ocr                        zoom read_code
        red price?  price               zoom ocr                        zoom read_code search
        red total?  price and postage   zoom ocr search calculator      zoom read_code search calculator

    A pictured slip takes the calls of a coded one, with image_search in place of read_code.

    Args:
        kinds: questions for tools, drawn evenly: number, price, total.
        forms: of the slips, drawn evenly: printed, coded, pictured.
        seen: questions without need of a tool, drawn evenly: place (of the red slip), stamp (its place). The packaged
            policy knows the place of a red object; 120 steps of demonstrations do not teach that of a stamp.
        needed: share of questions that need tools, 0 to 1.
        wasteful: share of the questions for tools in which the expert makes a needless call, 0 to 1: the reader that
            finds nothing, or a search after the answer was read. Training is to remove such calls.
        size: articles of the registry, 40 to 800.
        world_seed: seed of the registry.

    Returns:
        A world broken down by "needs_tool" and "kind". No article and no font is in both splits. Gauges: iou (overlap
        of the last zoom with the red slip, on questions for tools), looked (share of rollouts with a successful zoom),
        searched (share with a successful search), wasted_calls and repeated_calls.

    Raises:
        InputError: an argument out of range, or a missing package (extras [vision] and [charts]).

    Example:
        "red price?" and an overview: zoom {"box": "6 6 8 8"} shows a code, read_code {"image": 2} replies "471",
        search {"query": "471"} replies "37+48", price and postage, and the answer is "37"

    Idea: questions about images for several different tools, as in DeepEyesV2 (arXiv:2511.05271) and SenseNova-MARS
    (arXiv:2512.24330).
    """
    for given, known in ((kinds, QUESTIONS), (forms, READERS), (seen, ("place", "stamp"))):
        if not given or set(given) - set(known):
            raise InputError(f"documents got {given!r}; give one or more of {', '.join(known)}")
    if not 0 <= needed <= 1 or not 0 <= wasteful <= 1:
        raise InputError(f"documents takes shares of 0 to 1, not needed {needed} and wasteful {wasteful}")
    if not LEAST <= size <= MOST:
        raise InputError(f"size is {size}; give {LEAST} to {MOST} articles")
    registry = draw_registry(size, world_seed)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        own = [article for article in registry if article.split == split]
        return [_task(own, split, seed, k, kinds, seen, forms, needed) for k in range(count)]

    return World(
        name="documents",
        tasks=tasks,
        env=zoom_env(lambda task: draw_page(page_of(task), task.metadata["split"])),
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer)),
        tools=_tools(registry, forms),
        breakdown=("needs_tool", "kind"),
        hidden_keys=("slips",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=_expert(wasteful),
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


def _tools(registry: Sequence[Article], forms: Sequence[Form]) -> tuple[Tool, ...]:
    texts = {one.number: f"{one.price}+{one.postage}" for one in registry}
    readers = [ocr(detail=DETAIL, boxes=False), read_code(boxes=False)]
    if "pictured" in forms:
        pictures = {one.number: article_picture(one.number, one.split) for one in registry}
        readers.append(image_search(pictures))
    return (*readers, _search(texts), calculator)


def _search(texts: Mapping[int, str]) -> Tool:
    @tool(timeout=None)
    def search(query: Annotated[str, "number of an article"]) -> str:
        """Find an article of the registry by its number."""
        found = (texts[int(word)] for word in query.split() if word.isdecimal() and int(word) in texts)
        return next(found, "nothing found")

    return search


def _task(
    articles: Sequence[Article],
    split: Split,
    seed: int,
    number: int,
    kinds: Sequence[Kind],
    seen: Sequence[Seen],
    forms: Sequence[Form],
    needed: float,
) -> Task:
    rng = random.Random(derive_seed("documents", split, seed, number))
    uses_tools = rng.random() < needed
    page = place_slips(rng, articles, forms)
    red = page.slips[0]
    article = next(one for one in articles if one.number == red.number)
    kind = rng.choice(kinds) if uses_tools else rng.choice(seen)
    metadata = {
        "needs_tool": "yes" if uses_tools else "no",
        "kind": kind,
        "form": red.form,
        "split": split,
        "gold": list(red.box),
        "gold_calls": _gold_calls(kind, red, article) if uses_tools else [],
        "slips": [list(slip) for slip in page.slips],
        "stamp": list(page.stamp),
    }
    question, answer = _asked(kind, page, article)
    asked = Message.of("user", question, shrink_page(page, split))
    return Task(f"documents-{split}-{seed}-{number}", (asked,), answer, metadata=metadata)


def _asked(kind: str, page: DocumentPage, article: Article) -> tuple[str, str]:
    """Question and answer."""
    answers = {
        "place": ("red at?", f"{page.slips[0].left} {page.slips[0].top}"),
        "stamp": ("stamp at?", f"{page.stamp.left} {page.stamp.top}"),
        "number": (QUESTIONS["number"], str(article.number)),
        "price": (QUESTIONS["price"], str(article.price)),
        "total": (QUESTIONS["total"], str(article.price + article.postage)),
    }
    return answers[kind]


def _gold_calls(kind: str, slip: Slip, article: Article) -> list[dict[str, object]]:
    """The necessary calls of a question for tools."""
    calls: list[dict[str, object]] = [
        {"name": ZOOM, "arguments": {"box": " ".join(map(str, slip.box))}},
        {"name": READERS[slip.form], "arguments": {"image": SHOWN_NUMBER}},
    ]
    if kind == "total" or (kind == "price" and slip.form != "printed"):
        calls.append({"name": "search", "arguments": {"query": str(article.number)}})
    if kind == "total":
        calls.append({"name": "calculator", "arguments": {"expression": f"{article.price}+{article.postage}"}})
    return calls


def page_of(task: Task) -> DocumentPage:
    """Parse the page of a task."""
    return DocumentPage(tuple(Slip(*slip) for slip in task.metadata["slips"]), Stamp(*task.metadata["stamp"]))


def _expert(wasteful: float) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        """Make the necessary calls, and a needless one at the rate `wasteful` or if unsure; then answer."""
        calls = [call for call in _calls(task, facts, wasteful) if call.name in facts["tools"]]
        if facts["turn"] < len(calls):
            return Message("assistant", "", (calls[facts["turn"]],))
        return Message("assistant", str(task.answer))

    return expert


def _calls(task: Task, facts: Facts, wasteful: float) -> list[ToolCall]:
    calls = list(reference_calls(task))
    if not calls:
        box = " ".join(map(str, task.metadata["gold"]))
        return [] if facts.get("sure", True) else [ToolCall(ZOOM, {"box": box})]
    rng = random.Random(derive_seed("documents wasteful", task.id))
    if rng.random() < wasteful:
        names = [call.name for call in calls]
        if "search" not in names and rng.random() < 0.5:
            number = task.metadata["slips"][0][3]
            calls.append(ToolCall("search", {"query": str(number)}))
        else:
            other = "read_code" if names[1] == "ocr" else "ocr"
            calls.insert(1, ToolCall(other, {"image": SHOWN_NUMBER}))
    return calls


slip_iou: Reward = box_overlap(found=last_zoom, gold=lambda task: task.metadata["gold"])
"""Intersection over union of the last zoom and the red slip."""
SEARCHED = used_tools(tools=("search",))


def _overlap(trajectory: Trajectory) -> float:
    return float(slip_iou(Group(trajectory.task, (trajectory,))).outcome[0])


def _searched(trajectory: Trajectory) -> float:
    return float(SEARCHED(Group(trajectory.task, (trajectory,))).outcome[0])


def _needs(trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata["needs_tool"] == "yes")


GAUGES = {
    "iou": RatioMetric(lambda one, outcome: _overlap(one) * _needs(one), lambda one, outcome: _needs(one)),
    "looked": RatioMetric(lambda one, outcome: float(last_zoom(one) is not None)),
    "searched": RatioMetric(lambda one, outcome: _searched(one)),
    "wasted_calls": wasted_calls(reference_calls),
    "repeated_calls": REPEATED_CALLS,
}
"""Metrics of every evaluation."""
