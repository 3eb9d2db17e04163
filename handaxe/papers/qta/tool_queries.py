"""Requests that need several tools, a policy that rewrites them, and a retriever that ranks the tools."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.ranking import ndcg_at, sufficiency_at
from handaxe.ops.seeds import derive_seed
from handaxe.papers.qta.split_requests import MOST_TOOLS, PLACES, ToolRequest, split_requests
from handaxe.papers.qta.tool_index import ToolIndex, tool_index
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["NOTHING", "is_reply", "rewritten", "tool_queries"]

NOTHING = "-"
"""Reply that adds nothing: the query stays raw."""
MOST_ADDED = 200
"""Characters of a reply that the retriever reads."""
NUMBER = re.compile(r"\b\d{3}\b")
START = Start(DemonstrationNoise(spurious_rate=1.0), skill=0, steps=240, batch_size=16)


def tool_queries(*, brief: bool = True) -> World:
    """Turns of users of bfcl-eval that need two or three of 128 tools; the policy adds words to the query.

    The retriever is BM25 over names, descriptions and parameters. The reply is appended to the request, and "-" adds
    nothing. A rollout is correct if the first five tools hold all needed ones; an empty reply, and one without "-" or
    the number of a tool in the brief form, is wrong. Often a needed tool prepares another and no word of the request
    names it: the brake pedal for a start of the engine, a login for a post. Dialogues are halved by a digest, and train
    leaves out requests that look like one of test in the brief form. Train repeats its requests, test has each once.

    Demonstrations of the start policy use no label: they name one tool of the simulator of the first-ranked tool at
    random.

    Args:
        brief: tools have numbers of three digits, the first of the simulator. The prompt has the numbers of the two
            tools that the raw request ranks first, and each number of the reply adds the words of the tool's name.
            Otherwise the prompt is the request with these words, and the reply is added as text.

    Returns:
        A world broken down by "tools", the number of needed tools. Gauges: sufficiency_10, ndcg_5, raw (S@5 of the raw
        request) and gain (S@5 of the rewritten request less raw). A start for the tiny policy in the brief form.

    Raises:
        InputError: a missing package (bfcl-eval; extra [search]).

    Example:
        "Start the engine, please." is "> 821 511", and the reply "816" adds "press brake pedal"

    Paper: arXiv:2410.03212 (QTA), requests of several tools, a rewriter, and a frozen retriever.
    Differs: see the page of `qta`.
    """
    known = tool_index()

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        own = list(split_requests(split))
        random.Random(derive_seed("tool queries", split, seed)).shuffle(own)
        total = count if split == "train" else min(count, len(own))
        return [_task(known, own[number % len(own)], brief, f"{split}-{seed}-{number}") for number in range(total)]

    sufficient = _measure(known, lambda ranking, needed: sufficiency_at(ranking, needed, PLACES))

    def found(one: Trajectory) -> float:
        return sufficient(one) if is_reply(one) else 0.0

    def raw(one: Trajectory) -> float:
        value: float = one.task.metadata["raw"]
        return value

    measures: dict[str, Callable[[Trajectory], float]] = {
        "sufficiency_10": _measure(known, lambda ranking, needed: sufficiency_at(ranking, needed, 2 * PLACES)),
        "ndcg_5": _measure(known, lambda ranking, needed: ndcg_at(ranking, needed, PLACES)),
        "raw": raw,
        "gain": lambda one: found(one) - raw(one),
    }
    return World(
        name="tool_queries",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(found),
        breakdown=("tools",),
        is_answer=is_text_answer,
        expert=lambda task, facts: _expert(known, task, facts),
        start=START if brief else None,
        start_turns=1,
        gauges={name: _gauge(measure) for name, measure in measures.items()},
    )


def rewritten(one: Trajectory) -> str:
    """Query of a rollout: the request and the words of the reply.

    Example:
        request "Start it." and reply "816"  ->  "Start it. press brake pedal";  reply "-"  ->  "Start it."
    """
    reply = final_text(one)
    text: str = one.task.metadata["text"]
    added = tool_index().named(NUMBER.findall(reply)[:MOST_TOOLS]) if one.task.metadata["brief"] else reply[:MOST_ADDED]
    return text if added == NOTHING else f"{text} {added}".strip()


def is_reply(one: Trajectory) -> bool:
    """Whether a reply has a form that the world reads: "-" or the number of a tool, or any text without `brief`.

    Example:
        "816" and "-" have it, "" and "tool" do not
    """
    reply = final_text(one).strip()
    if not one.task.metadata["brief"]:
        return bool(reply)
    return reply == NOTHING or bool(tool_index().named(NUMBER.findall(reply)))


def _task(known: ToolIndex, one: ToolRequest, brief: bool, name: str) -> Task:
    shown = known.spell(one.first, brief)
    prompt = f"> {shown}" if brief else f"{one.text}\n> {shown}"
    metadata = {
        "tools": str(len(one.needed)),
        "text": one.text,
        "first": one.first[0],
        "request": one.id,
        "raw": one.raw,
        "brief": brief,
    }
    return Task(f"query-{name}", (Message("user", prompt),), list(one.needed), None, metadata)


def _expert(known: ToolIndex, task: Task, facts: Facts) -> Message:
    """Name the needed tools; an unsure expert names a random tool of the first-ranked tool's simulator."""
    brief = task.metadata["brief"]
    if facts.get("sure", True):
        return Message("assistant", known.spell(task.answer, brief))
    mates = known.mates(task.metadata["first"])
    named = random.Random(derive_seed("tool query", task.id)).choice(mates)
    return Message("assistant", known.spell([named], brief))


def _measure(
    known: ToolIndex, measure: Callable[[Sequence[str], Sequence[str]], float]
) -> Callable[[Trajectory], float]:
    return lambda one: measure(known.rank(rewritten(one)), one.task.answer)


def _gauge(measure: Callable[[Trajectory], float]) -> RatioMetric:
    return RatioMetric(lambda one, _: measure(one))
