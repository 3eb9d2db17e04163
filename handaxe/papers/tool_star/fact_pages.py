"""Questions of `fact_products` with facts on pages: a search finds the page, and a browser reads a sentence of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from handaxe.core.errors import Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall
from handaxe.papers.tool_star.fact_products import fact_products
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.parts.people_facts import FIELDS, People, build_people
from handaxe.worlds.parts.search_tools import search_tool
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["browser", "fact_pages", "pages_of"]

START = Start(DemonstrationNoise(call_rate=0.6, corrupt_rate=0.05), skill=300, steps=60, batch_size=16)
BROWSED = RatioMetric(lambda one, outcome: float(any(r.name == "browse" and r.status == "ok" for r in one.replies)))
SENTENCES = {
    "age": "the age of {name} is {value}",
    "desk": "{name} sits at desk {value}",
    "rank": "{name} holds rank {value}",
}


def fact_pages(*, size: int = 200, world_seed: int = 0) -> World:
    """Questions for a number on a page, or for its product with another number.

    As `fact_products`, with a page for each person. The search finds pages by their titles and shows nothing of their
    text; the tool `browse` returns the best sentence of a page for a request.

    Args:
        size, world_seed: as for `fact_products`.

    Returns:
        A world as `fact_products`, with the tools search, browse and calculator, and the gauge browsed: the share of
        rollouts that read a page.

    Raises:
        InputError: as for `fact_products`.

    Example:
        "417 desk*38?": search {"query": "417 desk"} finds "[417] page of 417", browse {"page": "417", "want": "desk"}
        returns "417 sits at desk 52", calculator {"expression": "52*38"} returns "1976", which is the answer

    Paper: arXiv:2505.16410 (Tool-Star), the web browser as a tool between search and answer.
    Differs: a page is read by a rule, where the paper has a language model on pages of the web.
    """
    inner, people = fact_products(size=size, world_seed=world_seed), build_people(seed=world_seed, size=size)
    pages = pages_of(people)
    titles = [{"id": name, "text": f"page of {name}"} for name in sorted(pages)]

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [_browsed(task) for task in inner.tasks(split, count, seed)]

    return replace(
        inner,
        name="fact_pages",
        tasks=tasks,
        tools=(search_tool(titles, world="fact_pages", results=1, snippet=20), browser(pages), calculator),
        expert=_expert(inner.need("expert")),
        start=START,
        gauges={**inner.gauges, "browsed": BROWSED},
    )


def pages_of(people: People) -> dict[str, list[str]]:
    """Write a page for each person: its sentences, one for each fact.

    Example:
        "417": ["the age of 417 is 33", "417 sits at desk 52", "417 holds rank 7"]
    """
    pages = dict[str, list[str]]()
    for (name, field), value in people.facts.items():
        pages.setdefault(name, []).append(SENTENCES[field].format(name=name, value=value))
    return pages


def browser(pages: Mapping[str, list[str]]) -> Tool:
    """Create the tool `browse`, for reading a page.

        reply = first sentence of the page with most words of the request

    Args:
        pages: id -> sentences.

    Returns:
        The tool. An unknown page, and a request without a word of the page, are refused, status "retry".

    Example:
        browse("417", "desk") is "417 sits at desk 52"

    Paper: arXiv:2505.16410 (Tool-Star), the web browser agent.
    Differs: word overlap chooses a sentence, where the paper has summaries of a language model.
    """

    @tool(timeout=None)
    def browse(page: Annotated[str, "id of a page"], want: Annotated[str, "what to read on it"]) -> str:
        """Read a page for something."""
        found = pages.get(page.strip())
        if found is None:
            raise Retry("there is no such page; give the id in [] of a search result")
        asked = set(want.lower().split())
        shared = [len(asked & set(sentence.split())) for sentence in found]
        if not max(shared):
            raise Retry(f"the page says nothing about it; ask for {', '.join(FIELDS)}")
        return found[shared.index(max(shared))]

    return browse


def _browsed(task: Task) -> Task:
    """Insert the call of the browser after the search."""
    search, *others = task.metadata["gold_calls"]
    name, field = search["arguments"]["query"].split()
    browse = {"name": "browse", "arguments": {"page": name, "want": field}}
    metadata = {**task.metadata, "gold_documents": [name], "gold_calls": [search, browse, *others]}
    return replace(task, metadata=metadata)


def _expert(inner: Expert) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        turn = facts["turn"]
        if turn == 1 and "browse" in facts["tools"]:
            call = task.metadata["gold_calls"][1]
            return Message("assistant", "", (ToolCall(call["name"], call["arguments"]),))
        offered = [name for name in facts["tools"] if name != "browse"]
        return inner(task, {**facts, "turn": turn if turn == 0 else turn - 1, "tools": offered})

    return expert
