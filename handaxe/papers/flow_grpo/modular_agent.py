"""Agent of four modules around tools: the policy plans; callables execute, verify and generate the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.images import name_images
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.tools.deadline import Threads

__all__ = ["Executor", "Generator", "Remembered", "Verifier", "as_planned", "modular_agent"]

NOTHING = "no tool was called"


class Remembered(NamedTuple):
    """A line of the memory.

    goal            text of the planner next to its call, "" for none
    tool, command   executed tool and its arguments as text
    result          result of the call
    enough          verdict of the verifier on the memory up to here
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
"""(task, the planner's choice of tool and sub-goal) -> the executed command."""
Verifier = Callable[[Task, Memory], bool]
"""True if the memory is enough to answer the task."""
Generator = Callable[[Task, Memory], str]
"""Answer to the task from the memory."""


def as_planned(task: Task, call: ToolCall) -> ToolCall:
    """Return the planner's call unchanged: the default executor."""
    del task
    return call


def modular_agent(
    env: EnvFactory, *, verify: Verifier, generate: Generator, execute: Executor = as_planned, width: int = 200
) -> EnvFactory:
    """Make environments with the policy as planner of an agent, the only trained module.

        a_t      the planner's turn: tool and sub-goal
        c_t      = execute(task, call)      for each call of a_t, executed by `env`
        M_t+1    = M_t + (goal, tool, command, result, verdict);  verdict = verify(task, M_t+1)
        answer   = generate(task, M)        after a verdict of enough, or when the rollout ends for another reason

    A turn without a call is remembered and ends nothing: the verifier decides what is enough. The rollout chooses what
    the
    planner reads: `papers.flow_grpo.from_memory` shows the memory alone, `linear` the whole conversation.

    Args:
        env: executes calls; an `ending` of its own ends the rollout.
        verify: called after every turn.
        generate: called when rewards read the answer.
        execute: turns the planner's call into a command. It may change tool and arguments; the call keeps its id.
        width: characters of a result that are remembered, 1 or more.

    Returns:
        An EnvFactory, bounded as `env` is. Facts have "memory", the lines of M so far, and "enough". `report()` adds
        "answer" (text) and "memory" (a list of entries, JSON) to the wrapped one.

    Example:
        modular_agent(tool_chat([search]), verify=lambda task, memory: len(memory) == 2, generate=last_word)

    Paper: arXiv:2510.05592 (AgentFlow): planner, executor, verifier, generator and an evolving memory.
    Differs: the paper's executor, verifier and generator are frozen language models; here they are any callables.
    """

    def factory(task: Task) -> Env:
        return _Modular(env(task), task, verify, generate, execute, width)

    return inherit_bound(factory, env)


class _Modular(AsyncEnvWrapper):
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
        command = self._commanded(turn)
        return self._remembered(command, super().step(command, seed=seed))

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        if _idle(turn):
            return self._remembered(turn, EnvReply())
        command = self._commanded(turn)
        return self._remembered(command, await super().astep(command, seed=seed, threads=threads))

    def report(self) -> Mapping[str, Any]:
        memory = [entry._asdict() for entry in self.memory]
        return {**super().report(), "answer": self.generate(self.task, self.memory), "memory": memory}

    def snapshot(self) -> Any:
        return super().snapshot(), tuple(self.memory)

    def restore(self, state: Any) -> None:
        super().restore(state[0])
        self.memory = list(state[1])

    def _commanded(self, turn: ParsedTurn) -> ParsedTurn:
        return replace(turn, calls=tuple(replace(self.execute(self.task, c), id=c.id) for c in turn.calls))

    def _remembered(self, turn: ParsedTurn, reply: EnvReply) -> EnvReply:
        """Add the turn and its results to the memory, call the verifier, and return the extended reply."""
        results = {one.call_id: name_images(one.content, one.images) for one in reply.replies}
        goal = " ".join(turn.text.split())
        entries = [
            Remembered(goal, c.name, _arguments(c), results[c.id][: self.width]) for c in turn.calls if c.id in results
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
    """A single text argument as it is; other arguments as JSON."""
    values = list(call.arguments.values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(dict(call.arguments))
