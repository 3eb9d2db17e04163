"""An agent of four modules around tools: the policy plans, and callables carry out, judge, remember and answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import EnvReply
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.wrapped import AsyncWrapped
from handaxe.tools.deadline import Threads

__all__ = ["Executor", "Generator", "Remembered", "Verifier", "as_planned", "modular_agent"]

NOTHING = "no tool was called"


class Remembered(NamedTuple):
    """A line of the memory.

    goal      what the planner said beside its call, "" for nothing
    tool, command   what was carried out: a tool's name, and its arguments as text
    result    what came of it
    enough    what the verifier said of the memory up to here
    """

    goal: str
    tool: str
    command: str
    result: str
    enough: bool = False

    def __str__(self) -> str:
        return " ".join(part for part in (self.goal, self.tool, self.command) if part) + f": {self.result}"


Memory = Sequence[Remembered]
Executor = Callable[[Task, ToolCall], ToolCall]
"""(task, the planner's choice of tool and sub-goal) -> the command that is carried out."""
Verifier = Callable[[Task, Memory], bool]
"""Whether the memory is enough to answer the task."""
Generator = Callable[[Task, Memory], str]
"""The answer to the task that the memory gives."""


def as_planned(task: Task, call: ToolCall) -> ToolCall:
    """The executor that carries out what was planned."""
    del task
    return call


def modular_agent(
    env: EnvFactory, *, verify: Verifier, generate: Generator, execute: Executor = as_planned, width: int = 200
) -> EnvFactory:
    """Make environments in which the policy is the planner of an agent, the only one of its modules that is trained.

        a_t      the planner's turn: which tool, and to what end
        c_t      = execute(task, call)      for each call of a_t, carried out by `env`
        M_t+1    = M_t + (goal, tool, command, result, verdict);  verdict = verify(task, M_t+1)
        answer   = generate(task, M)        once the verdict is enough, or when the attempt ends for another reason

    A turn without a call is remembered as such and ends nothing: what is enough is not for the planner to say. What
    the planner reads of all this is the rollout's to choose: `papers.flow_grpo.from_memory` shows it the memory alone,
    `linear` all that was said.

    Args:
        env: carries out calls; whatever ends an attempt there with an `ending` of its own ends it here.
        verify: asked after every turn.
        generate: asked when rewards are to see the answer.
        execute: makes the planner's call a command. It may change tool and arguments; the call keeps its id.
        width: characters of a result that are remembered, 1 or more.

    Returns:
        An EnvFactory, bounded as `env` is. Facts hold "memory", the lines of M so far, and "enough".
        `report()` is the inner one with "answer" (text) and "memory" (a list of entries, JSON) besides.

    Example:
        modular_agent(tool_chat([search]), verify=lambda task, memory: len(memory) == 2, generate=last_word)

    Paper: arXiv:2510.05592 (AgentFlow): planner, executor, verifier, generator and an evolving memory.
    Differs: the paper's executor, verifier and generator are frozen language models; here they are any callables.
    """

    def factory(task: Task) -> Env:
        return _Modular(env(task), task, verify, generate, execute, width)

    return bounded_as(factory, env)


class _Modular(AsyncWrapped):
    def __init__(self, env: Env, task: Task, verify: Verifier, generate: Generator, execute: Executor, width: int):
        super().__init__(env)
        self.task = task
        self.verify, self.generate = verify, generate
        self.execute = execute
        self.width = width
        self.memory: list[Remembered] = []

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        if _idle(turn):
            return self._remembered(turn, EnvReply())
        carried_out = self._commanded(turn)
        return self._remembered(carried_out, super().step(carried_out, seed=seed))

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        if _idle(turn):
            return self._remembered(turn, EnvReply())
        carried_out = self._commanded(turn)
        return self._remembered(carried_out, await super().astep(carried_out, seed=seed, threads=threads))

    def report(self) -> Mapping[str, Any]:
        kept = [entry._asdict() for entry in self.memory]
        return {**super().report(), "answer": self.generate(self.task, self.memory), "memory": kept}

    def snapshot(self) -> Any:
        return super().snapshot(), tuple(self.memory)

    def restore(self, state: Any) -> None:
        super().restore(state[0])
        self.memory = list(state[1])

    def _commanded(self, turn: ParsedTurn) -> ParsedTurn:
        return replace(turn, calls=tuple(replace(self.execute(self.task, c), id=c.id) for c in turn.calls))

    def _remembered(self, turn: ParsedTurn, reply: EnvReply) -> EnvReply:
        """The reply, once the turn and what came of it stand in the memory and the verifier was asked."""
        told = {one.call_id: one.content for one in reply.replies}
        goal = " ".join(turn.text.split())
        entries = [
            Remembered(goal, c.name, _arguments(c), told[c.id][: self.width]) for c in turn.calls if c.id in told
        ]
        entries += [Remembered(goal, "", "", error[: self.width]) for error in turn.errors]
        self.memory += entries or [Remembered(goal, "", "", NOTHING)]
        enough = self.verify(self.task, self.memory)
        self.memory[-1] = self.memory[-1]._replace(enough=enough)
        facts = {**reply.facts, "memory": "\n".join(map(str, self.memory)), "enough": enough}
        messages = reply.messages or (Message("user", NOTHING),)
        done = enough or reply.ending is not None
        return reply._replace(messages=messages, facts=facts, done=done)


def _idle(turn: ParsedTurn) -> bool:
    return not turn.calls and not turn.errors


def _arguments(call: ToolCall) -> str:
    """A lone text as it is; other arguments as JSON."""
    values = list(call.arguments.values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(dict(call.arguments))
