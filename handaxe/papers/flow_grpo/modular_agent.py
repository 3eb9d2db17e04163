"""Agent of four modules around tools: the policy plans; rules or language models execute, verify and answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.images import name_images
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolCall, ToolSchema
from handaxe.core.requests import AuxChat, AuxRequest, EnvReply
from handaxe.envs.aux_work import AuxWork, AuxWorkEnv
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.ops.ask_aux import NoReply, ask_aux
from handaxe.papers.flow_grpo.module_requests import (
    EXECUTOR,
    GENERATOR,
    MODULES,
    VERIFIER,
    ModuleChat,
    plan_text,
    read_command,
    read_enough,
)

__all__ = ["AnswerRule", "Executor", "Remembered", "Verifier", "as_planned", "modular_agent"]

NOTHING = "no tool was called"
NO_COMMAND = "the executor wrote no command"
TRIES = 2
"""Requests for a reply that is empty or no command."""


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
AnswerRule = Callable[[Task, Memory], str]
"""Answer to the task from the memory."""


def as_planned(task: Task, call: ToolCall) -> ToolCall:
    """Return the planner's call unchanged: the default executor."""
    del task
    return call


def modular_agent(
    env: EnvFactory, *, verify: Verifier, generate: AnswerRule, execute: Executor = as_planned, width: int = 200
) -> EnvFactory:
    """Make environments with the policy as planner of an agent of four modules.

        a_t      the planner's turn: tool and sub-goal
        c_t      = execute(task, call)      for each call of a_t, executed by `env`
        M_t+1    = M_t + (goal, tool, command, result, verdict);  verdict = verify(task, M_t+1)
        answer   = generate(task, M)        after a verdict of enough, or when the rollout ends for another reason

    A module is the rule of its argument, or the auxiliary policy of its name in the rollout: "executor", "verifier" or
    "generator". A model gets a request after the planner's turn (`EnvReply.aux_request`): its tokens are recorded, and
    never trained with the planner's. The rule is never called instead of a model that fails: the rollout ends as
    infra_error, also for an empty reply (after a second request). Any other text of a model is a reply: a verdict
    other than yes continues, and a text that is no command is remembered as such, without a call.

    A turn without a call is remembered and ends nothing: the verifier decides what is enough. The rollout chooses what
    the planner reads: `papers.flow_grpo.from_memory` shows the memory alone, `linear` the whole conversation.

    Args:
        env: executes calls; an `ending` of its own ends the rollout. It makes no requests to auxiliary policies.
        verify: called after every turn.
        generate: called when rewards read the answer. A model answers once: after the verdict of enough, or after the
            last turn. A rollout that is truncated before, by a cut turn or a memory beyond the context, has no answer.
        execute: turns the planner's call into a command. It may change tool and arguments; the call keeps its id.
        width: characters of a result that are remembered, 1 or more.

    Returns:
        An EnvFactory, bounded as `env` is. Facts have "memory", the lines of M so far, and "enough". `report()` adds
        "answer" (text), "memory" (a list of entries, JSON) and "asked" (requests by module) to the wrapped one.

    Raises:
        InputError: when made, an inner environment with requests of its own.

    Example:
        modular_agent(tool_chat([search]), verify=lambda task, memory: len(memory) == 2, generate=last_word)

    Paper: arXiv:2510.05592 (AgentFlow): planner, executor, verifier, generator and an evolving memory.
    Differs: the prompts are short ones of the library, and the executor writes arguments instead of code.
    """

    def factory(task: Task) -> Env:
        return _Modular(env(task), task, verify, generate, execute, width)

    return inherit_bound(factory, env)


class _Modular(AuxWorkEnv):
    """Environment of `modular_agent`."""

    def __init__(self, env: Env, task: Task, verify: Verifier, generate: AnswerRule, execute: Executor, width: int):
        super().__init__(env, task)
        self.verify, self.generate = verify, generate
        self.execute = execute
        self.width = width
        self.memory: list[Remembered] = []
        self.answer: str | None = None
        self.turns = 0
        self.modules: dict[str, ModuleChat] = {}
        self.tools: Mapping[str, ToolSchema] = {}

    def on_open(self, *, aux_policies: Mapping[str, AuxChat], max_turns: int) -> None:
        """Let the auxiliary policies with a module's name play the module."""
        super().on_open(aux_policies=aux_policies, max_turns=max_turns)
        self.modules = {name: ModuleChat(name, aux_policies[name]) for name in MODULES if name in aux_policies}

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        messages, tools = super().start()
        self.tools = {one.name: one for one in tools}
        return messages, tools

    def report(self) -> Mapping[str, Any]:
        memory = [entry._asdict() for entry in self.memory]
        answer = self.answer
        if answer is None:
            answer = "" if GENERATOR in self.modules else self.generate(self.task, self.memory)
        return {**super().report(), "answer": answer, "memory": memory, "asked": dict(self.asked)}

    def snapshot(self) -> Any:
        return super().snapshot(), tuple(self.memory), self.turns

    def restore(self, state: Any) -> None:
        inner, memory, self.turns = state
        super().restore(inner)
        self.memory = list(memory)

    def work(self, turn: ParsedTurn) -> AuxWork:
        """Execute, remember, verify, and answer at the end of the rollout."""
        self.turns += 1
        goal = " ".join(turn.text.split())
        reply, entries = EnvReply(), [Remembered(goal, "", "", NOTHING)]
        try:
            if turn.calls or turn.errors:
                command, unread = yield from self._command(turn, goal)
                reply = (yield command) if command.calls or command.errors else EnvReply()
                told = [Message("tool", NO_COMMAND, call_id=call.id, name=call.name) for call in unread]
                reply = reply._replace(messages=(*reply.messages, *told))
                entries = self._entries(goal, command, reply)
                entries += [Remembered(goal, call.name, "", NO_COMMAND) for call in unread]
            self.memory += entries or [Remembered(goal, "", "", NOTHING)]
            enough = yield from self._verdict()
            self.memory[-1] = self.memory[-1]._replace(enough=enough)
            ended = enough or self.turns >= self.max_turns or reply.done
            if ended and GENERATOR in self.modules and not (reply.ending and reply.ending.kind == "infra_error"):
                self.answer = (yield from self._asked(GENERATOR, {"memory": self._lines()})).text.strip()
        except NoReply as failed:
            return reply._replace(done=True, ending=Ending("infra_error", str(failed)))
        facts = {**reply.facts, "memory": self._lines(), "enough": enough}
        messages = reply.messages or (Message("user", NOTHING),)
        return reply._replace(messages=messages, facts=facts, done=enough or reply.ending is not None)

    def _command(
        self, turn: ParsedTurn, goal: str
    ) -> Generator[AuxRequest, ParsedTurn, tuple[ParsedTurn, list[ToolCall]]]:
        """Commands of a planner's turn, and the calls without a command."""
        calls, unread = list[ToolCall](), list[ToolCall]()
        for planned in turn.calls:
            if EXECUTOR not in self.modules:
                calls.append(replace(self.execute(self.task, planned), id=planned.id))
            elif planned.name not in self.tools:  # the environment replies that there is no such tool
                calls.append(planned)
            else:
                command = yield from self._executed(planned, goal)
                (unread if command is None else calls).append(command or planned)
        return replace(turn, calls=tuple(calls)), unread

    def _executed(self, planned: ToolCall, goal: str) -> Generator[AuxRequest, ParsedTurn, ToolCall | None]:
        tool = self.tools[planned.name]
        told = json.dumps({"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)})
        for _ in range(TRIES):
            said = yield from self._asked(EXECUTOR, {"plan": plan_text(goal, planned), "tool": told})
            command = read_command(said, planned, tool)
            if command is not None:
                return command
        return None

    def _verdict(self) -> Generator[AuxRequest, ParsedTurn, bool]:
        if VERIFIER not in self.modules:
            return self.verify(self.task, self.memory)
        return read_enough((yield from self._asked(VERIFIER, {"memory": self._lines()})))

    def _asked(self, module: str, quoted: Mapping[str, str]) -> Generator[AuxRequest, ParsedTurn, ParsedTurn]:
        """Reply of a module; an empty one is requested again."""
        request = self.modules[module].request(self.task, quoted)
        return (yield from ask_aux(request, calls=module == EXECUTOR))

    def _entries(self, goal: str, command: ParsedTurn, reply: EnvReply) -> list[Remembered]:
        """Lines of the memory for executed commands and malformed calls."""
        results = {one.call_id: name_images(one.content, one.images) for one in reply.replies}
        entries = [
            Remembered(goal, c.name, _arguments(c), results[c.id][: self.width])
            for c in command.calls
            if c.id in results
        ]
        return [*entries, *(Remembered(goal, "", "", error[: self.width]) for error in command.errors)]

    def _lines(self) -> str:
        return "\n".join(map(str, self.memory))


def _arguments(call: ToolCall) -> str:
    """A single text argument as it is; other arguments as JSON."""
    values = list(call.arguments.values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(dict(call.arguments))
