"""World `hops` for a system of three roles, planner, worker and checker, and for one policy that plays them at once."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Rollout
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.in_roles import RolePrompt, RoleTurn, in_roles, role_turns
from handaxe.worlds.hops.knowledge_base import RELATIONS
from handaxe.worlds.hops.world import hops
from handaxe.worlds.world import Expert, Facts, Start, World

__all__ = ["CHECKER", "PLANNER", "WORKER", "answer_in", "is_sent_back", "role_hops", "role_system"]

PLANNER = "planner"
WORKER = "worker"
CHECKER = "checker"
ANSWER = re.compile(r"<answer>([^<]*)</answer>")
NOTHING = "nothing"
GO_ON = "go on"
START = Start(skill=400, steps=0, batch_size=24)
TURNS = 3
"""Turns of a search: sub-goal, call, check."""


def role_hops(*, lengths: tuple[int, ...] = (2, 3), errors: float = 0.2, size: int = 200, world_seed: int = 0) -> World:
    """Questions of `hops` in key words, for a system of three roles of one policy.

        planner   reads the question, or what is left of it          -> a sub-goal, "8038 ally"
        worker    reads the sub-goal                                 -> a search
        checker   reads what is left, and the result of the search   -> what is left now, or <answer>2973</answer>

    `role_system` plays the roles in sequences of their own, which is the world's default rollout; `linear` plays them
    in one conversation, with the tags <planner> and <checker>. A text without an answer ends nothing. The expert writes
    a wrong sub-goal at the given rate; its checker then leaves the question as it is, and the planner plans again.

    Args:
        lengths: number of facts of a question, each 1 to 4; drawn evenly.
        errors: share of wrong first sub-goals of the expert, 0 to 1.
        size: people in questions, 16 to 900; four facts each.
        world_seed: seed of the knowledge base.

    Returns:
        A world broken down by "hops", with the gauges of hops and read_tokens, the tokens of all sequences of a
        rollout, each read once.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "8038 ally ally?": planner "8038 ally"; worker search "8038 ally" -> "[8038 ally] 8038 ally 2973"; checker
        "checker: 8038 ally ally | 8038 ally 2973" -> "2973 ally"; planner "2973 ally"; ...; <answer>5624</answer>

    Paper: arXiv:2508.13167 (Chain-of-Agents), role agents that plan and verify, and tool agents.
    Differs: three roles and one tool.
    """
    if not 0 <= errors <= 1:
        raise InputError(f"errors is {errors}; give a share of 0 to 1")
    made = hops(lengths=lengths, results=1, size=size, world_seed=world_seed)
    return replace(
        made,
        name="role_hops",
        env=_env,
        correct=exact_match(extract=answer_in, normalise=str.strip),
        is_answer=lambda turn: bool(ANSWER.search(turn.parsed.text)),
        criteria=None,
        check=None,
        expert=_expert(errors),
        start=START,
        start_turns=2 * TURNS * max(lengths),
        rollout=role_system,
        gauges={**made.gauges, "read_tokens": RatioMetric(_read_tokens)},
    )


def role_system(max_turns: int) -> Rollout:
    """Play the system of three roles, `max_turns` searches with a sub-goal and a check each.

    Example:
        max_turns 2: turns of planner, worker, checker, planner, worker and checker at most

    Idea: one turn of the system is one search, so that limits compare with those of a single agent.
    """
    return in_roles(first=PLANNER, follow=_follow, max_turns=TURNS * max_turns)


def answer_in(trajectory: Trajectory) -> str:
    """Return the tagged answer of the last turn; "" without exactly one.

    Example:
        "<answer>1390</answer>" -> "1390";  "1390", or two answers  ->  ""

    Paper: arXiv:2508.13167 (Chain-of-Agents), agents as tagged segments.
    Differs: the tag of the answer.
    """
    found = ANSWER.findall(trajectory.final_text)
    return found[0] if len(found) == 1 else ""


def is_sent_back(trajectory: Trajectory) -> bool:
    """Check whether a checker left the question as it was, so that the planner planned again.

    Example:
        question "8038 ally ally?", checker "8038 ally ally" -> True;  checker "2973 ally", then an answer -> False

    Paper: arXiv:2508.13167 (Chain-of-Agents), reflective trajectories among the lessons.
    Differs: a rule reads the checker's text. Unconfirmed: the paper's criterion of reflection.
    """
    turns = role_turns(trajectory)
    left = [_question(trajectory.task), *(turn.text for turn in turns if turn.role == CHECKER)]
    return any(before == after for before, after in pairwise(left))


def _follow(task: Task, turns: Sequence[RoleTurn]) -> RolePrompt:
    last = turns[-1]
    if last.role == PLANNER:
        return RolePrompt(WORKER, last.text)
    checks = [one.text for one in turns if one.role == CHECKER]
    left = checks[-1] if checks else _question(task)
    if last.role == WORKER:
        return RolePrompt(CHECKER, f"{left} | {_passage(last.results)}")
    return RolePrompt(PLANNER, left)


def _question(task: Task) -> str:
    return task.messages[-1].content.rstrip("?")


def _passage(results: Sequence[str]) -> str:
    """First passage of the last result, without its title."""
    return results[-1].split("\n")[0].rpartition("] ")[2] if results else NOTHING


def _read_tokens(one: Trajectory, right: float) -> float:
    del right
    return float(sum(len(sequence) for sequence in one.sequences))


class _OpenEnded(AsyncEnvWrapper):
    """A text ends the rollout if it states an answer. Facts: the chain's facts found in order, and searches since."""

    def __init__(self, env: Env, task: Task):
        super().__init__(env)
        documents, answers = task.metadata["gold_documents"], task.metadata["gold_answers"]
        self.facts = [f"{document} {answer}" for document, answer in zip(documents, answers, strict=True)]
        self.found, self.missed = 0, 0
        self.turn = ParsedTurn("")

    def transform_turn(self, turn: ParsedTurn) -> ParsedTurn:
        self.turn = turn
        return turn

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        for one in reply.replies:
            new = self.found < len(self.facts) and self.facts[self.found] in one.content
            self.found, self.missed = self.found + new, 0 if new else self.missed + 1
        facts: Mapping[str, Any] = {**reply.facts, "found": self.found, "missed": self.missed}
        if self.turn.calls or self.turn.errors:
            return reply._replace(facts=facts)
        if ANSWER.search(self.turn.text):
            return EnvReply(done=True, ending=Ending("completed"), facts=facts)
        return EnvReply((Message("user", GO_ON),), facts=facts)

    def snapshot(self) -> Any:
        return super().snapshot(), self.found, self.missed

    def restore(self, state: Any) -> None:
        inner, self.found, self.missed = state
        super().restore(inner)


def _env(tools: Sequence[Any]) -> EnvFactory:
    inner = tool_chat(tools)

    def factory(task: Task) -> Env:
        return _OpenEnded(inner(task), task)

    return inherit_bound(factory, inner)


def _expert(errors: float) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        """Speak for the role of the turn."""
        role = (PLANNER, WORKER, CHECKER)[facts["turn"] % TURNS]
        found, path = facts.get("found", 0), task.metadata["path"]
        name = _question(task).split()[0] if not found else task.metadata["gold_answers"][found - 1]
        left = path[found:]
        if role == CHECKER:
            return Message("assistant", " ".join((name, *left)) if left else f"<answer>{name}</answer>")
        goal = f"{name} {left[0]}" if left else name
        rng = random.Random(derive_seed("role hops", task.id, found))
        if left and not facts.get("missed", 0) and rng.random() < errors:
            goal = f"{name} {rng.choice([one for one in RELATIONS if one != left[0]])}"
        return Message("assistant", goal) if role == PLANNER else _search(goal)

    return expert


def _search(goal: str) -> Message:
    return Message("assistant", "", (ToolCall("search", {"query": goal}),))
