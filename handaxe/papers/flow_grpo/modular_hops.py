"""The world of hops for a planner: a rule says when enough was found, and another one reads the answer off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import EnvFactory, Rollout
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.flow_grpo.from_memory import from_memory
from handaxe.papers.flow_grpo.modular_agent import Remembered, modular_agent
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.search_tools import gold_searches
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["modular_hops"]

START = Start(DemonstrationNoise(clumsy=0.4), skill=300, steps=80, batch_size=24)


def modular_hops(*, lengths: tuple[int, ...] = (2, 3), size: int = 200, world_seed: int = 0) -> World:
    """Questions as in `hops`, in key words, where the policy plans searches and does nothing else.

    Its every turn reads the question and the memory: a line for each search so far with the best passage found.
    A rule follows the question through these passages, from the left to the right. Where it comes to the end, that is
    enough and its last word is the answer; an attempt that never comes there has none. The rules read the question
    and the memory and know nothing else of the task. The expert plans the searches in their order.

    Args:
        lengths: how many facts a question needs, each 1 to 4; drawn evenly.
        size: people of whom questions ask, 16 to 900; four facts each.
        world_seed: of the knowledge base.

    Returns:
        A world broken down by "hops" with the gauge wasted_calls, played by `papers.flow_grpo.from_memory`.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 boss ally?": search {"query": "4071 boss"} is remembered as "search 4071 boss: [4071 boss] 4071 boss
        5526", and search {"query": "5526 ally"} as "...: [5526 ally] 5526 ally 1390", which is enough for "1390"
    """
    made = hops(lengths=lengths, results=1, size=size, world_seed=world_seed)
    return replace(
        made,
        name="modular_hops",
        env=_env,
        correct=exact_match(extract=_answer, normalise=str.strip),
        answered=None,
        criteria=None,
        check=None,
        expert=_expert,
        start=START,
        rollout=_from_memory,
    )


def _env(tools: Sequence[Any]) -> EnvFactory:
    return modular_agent(tool_chat(tools), verify=_enough, generate=_read_off)


def _followed(task: Task, memory: Sequence[Remembered]) -> list[str]:
    """The answers of the question's steps, as far as the passages in the memory give them."""
    name, *path = task.messages[-1].content.rstrip("?").split()
    known = {}
    for entry in memory:
        words = entry.result.split("\n")[0].rpartition("]")[2].split()
        known.update({(words[0], words[1]): words[2]} if len(words) == 3 else {})
    found: list[str] = []
    for relation in path:
        key = (found[-1] if found else name, relation)
        if key not in known:
            break
        found.append(known[key])
    return found


def _enough(task: Task, memory: Sequence[Remembered]) -> bool:
    return len(_followed(task, memory)) == len(task.messages[-1].content.split()) - 1


def _read_off(task: Task, memory: Sequence[Remembered]) -> str:
    return _followed(task, memory)[-1] if _enough(task, memory) else ""


def _answer(one: Trajectory) -> str:
    return str(one.env.get("answer", ""))


def _expert(task: Task, facts: Facts) -> Message:
    searches = gold_searches(task, facts)
    left = searches[facts["turn"] : facts["turn"] + 1]
    return Message("assistant", "" if left else "nothing left to search for", tuple(left))


def _from_memory(max_turns: int) -> Rollout:
    return from_memory(max_turns=max_turns)
