"""Aggregation questions about all documents of an author: their number, or the longest document."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.marag.document_sets import document_sets
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.set_overlap import set_overlap
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import search_tool
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["KINDS", "found_documents", "gold_documents", "needed_calls", "shelves"]

KINDS = ("count", "longest", "shared")
"""Number of documents; document with most pages; number of documents under two conditions."""
ROOMS = 3
START = Start(
    DemonstrationNoise(call_rate=0.6, corrupt_rate=0.1), skill=100, steps=20, batch_size=16, learning_rate=2e-3
)
Made = tuple[dict[str, dict[str, Any]], tuple[tuple[str, ...], tuple[str, ...]]]


def shelves(
    *, kinds: tuple[str, ...] = ("count", "longest"), authors: int = 60, size: int = 400, world_seed: int = 0
) -> World:
    """Questions about the documents of an author, answered by tools over sets of documents.

    Tools: filter_by, intersect, count, largest and sort_by (`papers.marag.document_sets`), and a search for single
    documents. Documents are numbers; each has an author, a room and pages.

    Args:
        kinds: some of count (two calls), longest (two calls) and shared (four calls), drawn evenly.
        authors: number of authors, 8 to 90; a quarter occurs in test questions only.
        size: number of documents, 2 to 10 for each author.
        world_seed: seed of the documents.

    Returns:
        A world broken down by "kind", scored by exact match. Tasks keep "gold_documents", the documents of the answer,
        one or more. Gauge document_f1: F1 of the last queried set against these; 0 for a rollout without a set.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "how many by 41?": filter_by {"field": "by", "value": "41"} returns "s1: 104 217 388 ...", count {"among": "s1"}
        returns "7", and the answer is "7"
        "how many by 41 in room 2?": two filters, intersect {"first": "s1", "second": "s2"} and count {"among": "s3"}
    """
    if not kinds or not set(kinds) <= set(KINDS):
        raise InputError(f"kinds are some of {', '.join(KINDS)}; they are {list(kinds)}")
    if not 8 <= authors <= 90 or not 2 * authors <= size <= 10 * authors:
        raise InputError(
            f"shelves has 8 to 90 authors with 2 to 10 documents each: {authors} authors, {size} documents"
        )
    documents, halves = _build(world_seed, authors, size)
    cards = [{"id": one, "text": _card(fields)} for one, fields in documents.items()]

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        half = halves[0 if split == "train" else 1]
        made = []
        for number in range(count):
            key = ("shelves", world_seed, authors, size, seed, split, number)
            rng = random.Random(derive_seed(*key))
            made.append(_task("-".join(map(str, key)), documents, rng.choice(half), rng.choice(kinds), rng))
        return made

    search = search_tool(cards, world="shelves", results=1, snippet=40)
    return World(
        name="shelves",
        tasks=tasks,
        env=lambda offered: tool_chat([document_sets(documents), *offered]),
        correct=exact_match(),
        tools=(search,),
        breakdown=("kind",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=_expert,
        start=START,
        gauges={"document_f1": RatioMetric(lambda one, outcome: _f1(one))},
    )


def found_documents(trajectory: Trajectory) -> set[str]:
    """List the documents of the set last queried by `count`, `largest` or `sort_by`, or else of the last created set;
    () without a set.
    """
    state = trajectory.env.get("state", {}).get("DocumentSets", {})
    return set(state["asked"]) if state.get("sets") else set()


def gold_documents(task: Task) -> set[str]:
    """List the documents of the answer."""
    return set(task.metadata["gold_documents"])


def needed_calls(task: Task) -> int:
    """Count the necessary calls of a task."""
    return len(reference_calls(task))


@functools.lru_cache(maxsize=4)
def _build(seed: int, authors: int, size: int) -> Made:
    rng = random.Random(derive_seed("shelves", seed, authors, size))
    names = [str(number) for number in rng.sample(range(10, 100), authors)]
    ids = [str(number) for number in sorted(rng.sample(range(100, 1000), size))]
    pages = rng.sample(range(100, 1000), size)
    by = [names[k % authors] for k in range(2 * authors)] + rng.choices(names, k=size - 2 * authors)
    rng.shuffle(by)
    documents: dict[str, dict[str, Any]] = {
        one: {"by": by[k], "room": str(rng.randint(1, ROOMS)), "pages": pages[k]} for k, one in enumerate(ids)
    }
    return documents, (tuple(names[authors // 4 :]), tuple(names[: authors // 4]))


def _card(fields: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {value}" for name, value in fields.items())


def _task(name: str, documents: Mapping[str, Any], author: str, kind: str, rng: random.Random) -> Task:
    wanted = {"by": author}
    if kind == "shared":  # a room with one document or more: an empty result has no document to find
        wanted["room"] = rng.choice(sorted({fields["room"] for fields in documents.values() if fields["by"] == author}))
    gold = [one for one, fields in documents.items() if all(fields[key] == value for key, value in wanted.items())]
    calls = [_call("filter_by", {"field": key, "value": value}) for key, value in wanted.items()]
    if kind == "longest":
        words, answer = f"longest by {author}?", max(gold, key=lambda one: documents[one]["pages"])
        calls.append(_call("largest", {"field": "pages", "among": "s1"}))
    else:
        words, answer = f"how many by {author}?", str(len(gold))
        if kind == "shared":
            words = f"how many by {author} in room {wanted['room']}?"
            calls.append(_call("intersect", {"first": "s1", "second": "s2"}))
        calls.append(_call("count", {"among": "s3" if kind == "shared" else "s1"}))
    metadata = {"kind": kind, "gold_documents": gold, "gold_calls": calls}
    return Task(name, (Message("user", words),), answer, None, metadata)


def _call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _expert(task: Task, facts: Facts) -> Message:
    calls: Sequence[ToolCall] = reference_calls(task) if "filter_by" in facts["tools"] else ()
    if facts["turn"] < len(calls):
        return Message("assistant", "", (calls[facts["turn"]],))
    return Message("assistant", task.answer)


def _f1(trajectory: Trajectory) -> float:
    return float(OVERLAP(Group(trajectory.task, (trajectory,))).outcome[0])


OVERLAP = set_overlap(found=found_documents, gold=gold_documents)
