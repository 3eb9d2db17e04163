"""World `minigrid_text` for an agent with two intrinsic functions, think and plan, before every action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import Env, EnvFactory, Rollout
from handaxe.core.records import Message, ParsedTurn, Task
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.rollouts.in_roles import RolePrompt, RoleTurn, in_roles
from handaxe.worlds.minigrid_text.shortest_path import LOCKED
from handaxe.worlds.minigrid_text.world import minigrid_text
from handaxe.worlds.world import Expert, Facts, Start, World

__all__ = ["ACT", "PLAN", "THINK", "structured_grids", "think_plan_act"]

THINK = "think"
PLAN = "plan"
ACT = "act"
FUNCTIONS = 3
"""Turns of an action: two intrinsic functions and the extrinsic one."""
GO_ON = "go on"
UNCHANGED = ("nothing happens", "no such word", "it is over")
"""Replies without a view."""
START = Start(skill=200, steps=0, batch_size=16, learning_rate=2e-3)


def structured_grids(*, size: int = 5, longest: int = 8, astray: float = 0.25, grids: int = 400) -> World:
    """Grids of minigrid with a key and a door, for an agent that thinks and plans before it acts.

        think   reads the view and the memory          -> the thing to reach: key, door or goal
        plan    reads the view and the thought         -> the next action, as a word
        act     reads the plan                         -> a call of the tool `act`

    `think_plan_act` plays the functions, the world's default rollout: a turn reads the opening, and of everything else
    the memory that its prompt holds. A text ends nothing. The expert thinks right, and plans a random action at the
    rate `astray`.

    Args:
        size: side of the grid, 5 to 8, walls included.
        longest: maximum length of a shortest path; grids with longer paths are excluded.
        astray: share of random actions of the expert, 0 to below 1; training is to remove them.
        grids: number of grids, 50 or more.

    Returns:
        A world broken down by "length", with the gauges of minigrid_text.

    Raises:
        InputError: as `minigrid_text`.

    Example:
        "goal. a1 key f2 locked r1": think "key"; plan reads "a1 key f2 locked r1 | key" -> "forward"; act reads
        "forward" -> act("forward") -> "key f1"; think reads "key f1 | key forward" -> "key"

    Idea: intrinsic functions of Pangu-Agent (arXiv:2312.14878) in the world of a tiny policy.
    """
    made = minigrid_text(size=size, longest=longest, astray=astray, grids=grids)
    return replace(
        made,
        name="structured_grids",
        env=lambda tools: _open_ended(made.env(tools)),
        criteria=None,
        check=None,
        expert=_expert(made.need("expert")),
        start=START,
        start_turns=FUNCTIONS * made.start_turns,
        start_context=512,
        rollout=think_plan_act,
    )


def think_plan_act(max_turns: int) -> Rollout:
    """Play `max_turns` actions, each after a thought and a plan.

        pi(a | o, m) = pi_act(a | m_2),  m_2 = plan(o, m_1),  m_1 = think(o, m)      m: text of the earlier functions

    Example:
        think_plan_act(12) samples at most 36 turns
    """
    return in_roles(first=THINK, follow=_follow, max_turns=FUNCTIONS * max_turns)


def _follow(task: Task, turns: Sequence[RoleTurn]) -> RolePrompt:
    last, view = turns[-1], _view(task, turns)
    if last.role == THINK:
        return RolePrompt(PLAN, f"{view} | {last.text}")
    if last.role == PLAN:
        return RolePrompt(ACT, last.text)
    thought, plan = (next(one.text for one in reversed(turns) if one.role == role) for role in (THINK, PLAN))
    return RolePrompt(THINK, f"{view} | {thought} {plan}")


def _view(task: Task, turns: Sequence[RoleTurn]) -> str:
    """Last view that the environment showed."""
    seen = [text for one in turns for text in one.results if not text.endswith(UNCHANGED)]
    return seen[-1] if seen else task.messages[-1].content.partition(". ")[2]


class _OpenEnded(AsyncEnvWrapper):
    """Text turns leave the grid unchanged and the rollout open, with the facts of the last action."""

    def __init__(self, env: Env):
        super().__init__(env)
        self.facts: Mapping[str, Any] = {}

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self._kept(super().step(turn, seed=seed)) if turn.calls or turn.errors else self._text()

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Any) -> EnvReply:
        if not (turn.calls or turn.errors):
            return self._text()
        return self._kept(await super().astep(turn, seed=seed, threads=threads))

    def snapshot(self) -> Any:
        return super().snapshot(), self.facts

    def restore(self, state: Any) -> None:
        inner, self.facts = state
        super().restore(inner)

    def _kept(self, reply: EnvReply) -> EnvReply:
        self.facts = reply.facts
        return reply

    def _text(self) -> EnvReply:
        return EnvReply((Message("user", GO_ON),), facts=self.facts)


def _open_ended(inner: EnvFactory) -> EnvFactory:
    def factory(task: Task) -> Env:
        return _OpenEnded(inner(task))

    return inherit_bound(factory, inner)


def _expert(acting: Expert) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        """Speak for the function of the turn."""
        function = (THINK, PLAN, ACT)[facts["turn"] % FUNCTIONS]
        if function == THINK:
            return Message("assistant", _target(facts))
        action = acting(task, {**facts, "turn": facts["turn"] // FUNCTIONS})
        if function == ACT or not action.calls:
            return action
        return Message("assistant", str(action.calls[0].arguments["word"]))

    return expert


def _target(facts: Facts) -> str:
    if "doors" in facts and LOCKED not in facts["doors"]:
        return "goal"
    return "door" if facts.get("holds", -1) >= 0 else "key"
