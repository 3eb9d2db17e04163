"""World `hops` with pages: a search lists pages, and each fact stands on two of them."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Annotated

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.fathom.call_kinds import Kind, rule_kinds
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.search import search
from handaxe.worlds.hops.knowledge_base import build_facts, fact_documents
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.search_tools import cached_index
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["page_claim", "paged_hops"]

SECOND = " b"
"""End of the id of the second page of a fact."""
START = Start(skill=640, steps=0, batch_size=8)
LISTED = re.compile(r"^\[[^\]]+\]", re.MULTILINE)


def paged_hops(
    *,
    lengths: tuple[int, ...] = (1, 2),
    rewords: float = 0.4,
    reopens: float = 0.3,
    verifies: float = 0.4,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions of `hops` with a tool that lists pages and a tool that opens one; every fact stands on two pages.

    The expert searches and opens a page for each fact. In shares of the questions it searches once more in other words,
    opens a page again, or opens the second page of a fact. The first two return nothing new: training is to remove
    them.

    Args:
        lengths: number of facts of a question, each 1 to 4; drawn evenly.
        rewords: share of the questions with a search in the other order of words.
        reopens: share of the questions with a page that is opened twice.
        verifies: share of the questions in which a fact is verified on its second page.
        size: people in questions, 16 to 900; four facts each.
        world_seed: seed of the knowledge base.

    Returns:
        A world broken down by "hops". Gauges, over calls by the labels of `call_kinds.rule_kinds` with one
        verification: redundant_calls and verifications.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 boss?": search {"query": "4071 boss"} lists "[4071 boss]" and "[4071 boss b]", open {"id": "4071 boss"}
        finds "[4071 boss] 4071 boss 5526", and the answer is "5526"

    Idea: redundant searches that no comparison of words finds, and page visits that explore or verify.
    """
    if min(rewords, reopens, verifies) < 0 or max(rewords, reopens, verifies) > 1:
        raise InputError(f"rewords, reopens and verifies are shares from 0 to 1, not {rewords}, {reopens}, {verifies}")
    made = hops(lengths=lengths, size=size, world_seed=world_seed)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [_with_visits(one) for one in made.tasks(split, count, seed)]

    def expert(task: Task, facts: Facts) -> Message:
        wanted = _calls(task, rewords, reopens, verifies)
        if facts["turn"] >= len(wanted) or not {"search", "open"} <= set(facts["tools"]):
            return Message("assistant", str(task.answer))
        note, call = wanted[facts["turn"]]
        return Message("assistant", note, (call,))

    return replace(
        made,
        name="paged_hops",
        tasks=tasks,
        env=tool_chat,
        tools=_tools(size, world_seed),
        reference=None,
        expert=expert,
        start=START,
        start_turns=16,
        criteria=None,
        check=None,
        exploration=None,
        gauges={"redundant_calls": _share("redundant"), "verifications": _share("verification")},
    )


def page_claim(call: ToolCall) -> str | None:
    """Fact of the page that a call opens, without the letter of a second page; None for another call.

    Example:
        open {"id": "4071 boss b"}  ->  "4071 boss";  search {"query": "4071 boss"}  ->  None
    """
    if call.name != "open":
        return None
    return str(call.arguments.get("id", "")).strip().strip("[]").removesuffix(SECOND)


def _tools(size: int, world_seed: int) -> tuple[Tool, ...]:
    known = build_facts(seed=world_seed, size=size, distractors=1, digits=True)
    facts = fact_documents(known, brief=True)
    pages = [*facts, *({**one, "id": one["id"] + SECOND} for one in facts)]
    find, read = search(cached_index(pages, world="paged_hops"), results=2, snippet=20)

    @tool(name="search", timeout=None)
    def listing(query: Annotated[str, "what to look for"]) -> str:
        """List the pages about something by their ids."""
        return "\n".join(LISTED.findall(str(find(query))))

    @tool(name="open", timeout=None)
    def page(id: Annotated[str, "of a page, without brackets"]) -> str:
        """Read a page."""
        return str(read(id))

    return (listing, page)


def _with_visits(task: Task) -> Task:
    calls = [{"name": call.name, "arguments": dict(call.arguments)} for _, call in _calls(task, 0.0, 0.0, 0.0)]
    return replace(task, metadata={**task.metadata, "gold_calls": calls})


def _calls(task: Task, rewords: float, reopens: float, verifies: float) -> list[tuple[str, ToolCall]]:
    """Notes and calls of the expert: per fact a search and a visit, and the further calls of the task."""
    rng = random.Random(derive_seed("paged", task.id))
    keys = task.metadata["gold_documents"]
    further = {
        name: rng.randrange(len(keys)) if rng.random() < share else -1
        for name, share in (("rewords", rewords), ("reopens", reopens), ("verifies", verifies))
    }
    made = list[tuple[str, ToolCall]]()
    for k, key in enumerate(keys):
        note = " ".join([key, *task.metadata["path"][k + 1 :]])
        swapped = " ".join(reversed(key.split()))
        calls = [ToolCall("search", {"query": key})]
        calls += [ToolCall("search", {"query": swapped})] * (further["rewords"] == k)
        calls += [ToolCall("open", {"id": key})]
        calls += [ToolCall("open", {"id": key + SECOND})] * (further["verifies"] == k)
        calls += [ToolCall("open", {"id": key})] * (further["reopens"] == k)
        made += [(note, call) for call in calls]
    return made


def _share(kind: Kind) -> RatioMetric:
    label = rule_kinds(claim=page_claim)

    def count(one: Trajectory, outcome: float) -> float:
        del outcome
        return float(label(one).count(kind))

    return RatioMetric(count, lambda one, outcome: float(len(one.calls)))
