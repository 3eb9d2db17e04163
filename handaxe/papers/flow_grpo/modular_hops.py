"""World `hops` for a planner, with rule-based modules that verify the memory and generate the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import EnvFactory, Rollout
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.flow_grpo.from_memory import from_memory
from handaxe.papers.flow_grpo.modular_agent import Remembered, modular_agent
from handaxe.papers.flow_grpo.module_requests import MODULES
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.search_tools import reference_searches
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["modular_hops"]

START = Start(DemonstrationNoise(corrupt_rate=0.4), skill=300, steps=80, batch_size=24)


def modular_hops(*, lengths: tuple[int, ...] = (2, 3), size: int = 200, world_seed: int = 0) -> World:
    """Questions of `hops` in key words for a policy that plans searches only.

    Each turn of the policy reads the question and the memory: a line per search with the best passage. A rule follows
    the question through these passages from left to right. When it reaches the end, the memory is sufficient and its
    last word is the answer; a rollout without a complete chain has no answer. The rules read the question and the
    memory alone. The expert plans the searches in order.

    Args:
        lengths: number of facts of a question, each 1 to 4; drawn evenly.
        size: people in questions, 16 to 900; four facts each.
        world_seed: seed of the knowledge base.

    Returns:
        A world broken down by "hops" with the gauge wasted_calls, played by `papers.flow_grpo.from_memory`.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 boss ally?": search {"query": "4071 boss"} is stored as "search 4071 boss: [4071 boss] 4071 boss 5526",
        and search {"query": "5526 ally"} as "...: [5526 ally] 5526 ally 1390", a sufficient memory for the answer
        "1390"

    Paper: arXiv:2510.05592 (AgentFlow), a trained planner among frozen modules.
    Differs: rules execute, verify and answer, unless auxiliary policies play these modules.
    """
    made = hops(lengths=lengths, results=1, size=size, world_seed=world_seed)
    return replace(
        made,
        name="modular_hops",
        env=_env,
        roles=MODULES,
        correct=exact_match(extract=_answer, normalise=str.strip),
        is_answer=None,
        criteria=None,
        check=None,
        expert=_expert,
        start=START,
        rollout=_from_memory,
    )


def _env(tools: Sequence[Any]) -> EnvFactory:
    return modular_agent(tool_chat(tools), verify=_is_sufficient, generate=_final_answer)


def _chain_answers(task: Task, memory: Sequence[Remembered]) -> list[str]:
    """Answers of the question's steps, as far as the memory's passages give them."""
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


def _is_sufficient(task: Task, memory: Sequence[Remembered]) -> bool:
    return len(_chain_answers(task, memory)) == len(task.messages[-1].content.split()) - 1


def _final_answer(task: Task, memory: Sequence[Remembered]) -> str:
    return _chain_answers(task, memory)[-1] if _is_sufficient(task, memory) else ""


def _answer(one: Trajectory) -> str:
    return str(one.env.get("answer", ""))


def _expert(task: Task, facts: Facts) -> Message:
    searches = reference_searches(task, facts)
    rest = searches[facts["turn"] : facts["turn"] + 1]
    return Message("assistant", "" if rest else "nothing left to search for", tuple(rest))


def _from_memory(max_turns: int) -> Rollout:
    return from_memory(max_turns=max_turns)
