"""World `hops` with answers that are submitted together with evidence."""

from __future__ import annotations

import random
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.smartsnap.submission import chosen_observations, holds_documents, submit
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.extract import call_argument
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.call_metrics import REPEATED_CALLS
from handaxe.worlds.world import Expert, Facts, Start, World

__all__ = ["submitted_hops"]

START = Start(skill=360, steps=0, batch_size=8)
TIMES = 2
"""Times that a padded submission lists each observation."""


def submitted_hops(
    *,
    lengths: tuple[int, ...] = (2, 3),
    repeats: float = 0.6,
    padded: float = 0.4,
    lean: float = 0.3,
    brief: bool = True,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions of `hops` whose answer is submitted with the search results that prove it.

    The tool `submit` takes the answer and numbers of tool results, from 0, and ends the rollout. A rollout is correct
    if the answer is correct, with any evidence. The expert submits the first result of each query; in some questions it
    lists every result twice, or leaves one out: training is to remove both.

    Args:
        lengths: number of facts of a question, each 1 to 4; drawn evenly.
        repeats: share of the questions in which the expert repeats one of its searches.
        padded: share of the questions with every result twice.
        lean: share of the questions without the first result; of the rest, each result of use once.
        brief: in key words, for the tiny policy; otherwise sentences.
        size: people in questions, 16 to 900; four facts each.
        world_seed: seed of the knowledge base.

    Returns:
        A world broken down by "hops" with the gauges repeated_calls, submitted (share of rollouts with a valid
        submission), evidences (their mean number over valid submissions) and supported (share of rollouts whose
        evidence holds every fact of the question).

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 boss ally?": two searches as in `hops`, then submit(message="1390", evidences=[0, 1])

    Paper: arXiv:2512.22322 (SmartSnap), the agent's submission; its tasks are those of a phone.
    """
    shares = (padded, lean)
    if min(shares) < 0 or sum(shares) > 1:
        raise InputError(f"padded and lean are shares of 0 or more, together at most 1, not {padded} and {lean}")
    made = hops(lengths=lengths, results=1, repeats=repeats, notes=True, brief=brief, size=size, world_seed=world_seed)
    return replace(
        made,
        name="submitted_hops",
        env=lambda tools: tool_chat([*tools, submit], final=(submit.schema.name,)),
        correct=exact_match(extract=call_argument(submit.schema.name, "message")),
        is_answer=_is_submission,
        reference=None,
        expert=_expert(made.need("expert"), padded, lean),
        start=START if brief else None,
        criteria=None,
        check=None,
        exploration=None,
        gauges={
            "repeated_calls": REPEATED_CALLS,
            "submitted": RatioMetric(_is_submitted),
            "evidences": RatioMetric(lambda one, right: float(len(chosen_observations(one))), _is_submitted),
            "supported": RatioMetric(lambda one, right: float(holds_documents(chosen_observations(one), one.task))),
        },
    )


def _is_submission(turn: Turn) -> bool:
    return any(call.name == submit.schema.name for call in turn.parsed.calls)


def _is_submitted(one: Trajectory, right: float) -> float:
    del right
    return float(bool(chosen_observations(one)))


def _expert(searching: Expert, padded: float, lean: float) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        message = searching(task, facts)
        if message.calls or submit.schema.name not in facts["tools"]:
            return message
        chosen = _evidences(searching, task, facts, padded, lean)
        return Message("assistant", "", (ToolCall("submit", {"message": message.content, "evidences": chosen}),))

    return expert


def _evidences(searching: Expert, task: Task, facts: Facts, padded: float, lean: float) -> list[int]:
    """Numbers of results that the expert submits after its searches."""
    made = [searching(task, {**facts, "turn": n}) for n in range(facts["turn"])]
    queries = [call.arguments["query"] for message in made for call in message.calls]
    useful = [n for n, query in enumerate(queries) if query not in queries[:n]]
    place = random.Random(derive_seed("evidences", task.id)).random()
    if place < padded:
        return list(range(len(queries))) * TIMES
    return useful[1:] or useful if place < padded + lean else useful
