"""Conversation with tools: the environment of most runs."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

from handaxe.core.errors import HandaxeError, InfrastructureError, InputError, TaskError, ToolDefinitionError
from handaxe.core.images import Image
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.ops.seeds import derive_seed
from handaxe.tools import fault
from handaxe.tools.deadline import Threads
from handaxe.tools.decorator import Tool
from handaxe.tools.definition import check_names
from handaxe.tools.tool_owners import (
    SupportsClose,
    SupportsFork,
    SupportsReport,
    ToolSource,
    collect_tools,
    flatten_sources,
)

__all__ = ["tool_chat"]

OnMalformed = Literal["reply", "end"]


def tool_chat(
    tools: Sequence[ToolSource | Sequence[ToolSource]],
    *,
    on_malformed: OnMalformed = "reply",
    final: Sequence[str] = (),
) -> EnvFactory:
    """Make an environment that carries out a policy's calls until a turn without calls or with a final call.

    A turn of the policy is answered so:

        no call, nothing malformed    the trajectory is completed
        calls                         carried out in order, one tool message each
        malformed calls               one tool message each, after the messages of the calls; with on_malformed="end"
        the
                                      trajectory ends as policy_error and no call of the turn is carried out
        status "ok" of a call to a    the trajectory is completed; later calls of the turn are not carried out
        tool in `final`
        status infra_error, or a      the trajectory ends as infra_error; the record has the reply, the policy never
        reads timeout that is not the       it, and later calls of the turn are not carried out
        policy's fault

    A call to an unknown tool, or to one that the task does not offer, is answered with status "invalid".

    Tools receive the images of the task's messages and of the tool messages so far, in order (`ToolContext.images`).

    Args:
        tools: each a tool, a list or tuple of tools, or a function without arguments that makes for every rollout a new
            tool, an object with tools as methods, or a list of these. State lives only in such an object. With
            `snapshot` and `restore` on the object, a rollout may fork it; `close` is called at the end; `report` gives
            rewards the facts under the name of the class (a second object of the class under `Name 2`).
        on_malformed: "reply" answers malformed calls, "end" ends the trajectory.
        final: names of tools that end a trajectory, such as a tool that takes the answer. A call that is refused or
            fails ends nothing; `extract.argument` makes a reward from the argument of the call.

    Returns:
        An EnvFactory. `astep` awaits async tools and runs the others in the driver's threads. The factory is bounded
        (`core.protocols.Bounded`) if a tool factory is bounded by `most`, as `mcp` is.
        `report()` is {"replies": {status: count}, "malformed": count, "state": {class: report}}.

    Raises:
        ToolDefinitionError: two tools share a name, an entry is no tool or needs arguments, a tool already belongs to
            an object (its state would leak between rollouts), or `final` names an unknown tool. Every factory is called
            once for this check.
        TaskError: by the factory, for a task without messages or with an unknown tool.

    Example:
        env = tool_chat([calculator, python])(task); env.start(); env.step(turn, seed=0); env.close()
    """
    entries = flatten_sources(tools, whose="rollouts")
    samples = _make(entries)
    check_names([tool.schema for tool in samples])
    _close(_owners(samples))
    names = {tool.schema.name for tool in samples}
    if unknown := sorted(set(final) - names):
        raise ToolDefinitionError(f"final has unknown tools {unknown}; there are {sorted(names)}")

    def factory(task: Task) -> _ToolChat:
        _check_task(task, names)
        try:
            rollout_tools = _make(entries)
        except HandaxeError:
            raise
        except Exception as error:
            raise InfrastructureError(f"the tools of task {task.id!r} cannot be made: {error!r}") from error
        return _ToolChat(task, rollout_tools, on_malformed, frozenset(final))

    most = _most(entries)
    if most is not None:
        factory.most = most  # type: ignore[attr-defined]
    return factory


class _ToolChat:
    """Implements `core.protocols.Env`."""

    def __init__(self, task: Task, tools: list[Tool], on_malformed: OnMalformed, final: frozenset[str]):
        self.task = task
        self.owners = _owners(tools)
        self.offered = {t.schema.name: t for t in tools if task.tools is None or t.schema.name in task.tools}
        self.on_malformed = on_malformed
        self.final = final
        self.replies: Counter[str] = Counter()
        self.malformed = 0
        self.images: tuple[Image, ...] = tuple([image for message in task.messages for image in message.images])

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        return self.task.messages, tuple(tool.schema for tool in self.offered.values())

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        plan = self._answer(turn, seed)
        reply: ToolReply | None = None
        while True:
            try:
                tool, call, call_seed = plan.send(reply)
            except StopIteration as over:
                return over.value
            reply = tool.run(call, seed=call_seed, images=self.images)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        plan = self._answer(turn, seed)
        reply: ToolReply | None = None
        while True:
            try:
                tool, call, call_seed = plan.send(reply)
            except StopIteration as over:
                return over.value
            reply = await tool.arun(call, seed=call_seed, images=self.images, threads=threads)

    def _answer(self, turn: ParsedTurn, seed: int) -> Generator[tuple[Tool, ToolCall, int], Any, EnvReply]:
        """Answer a turn: yield the calls in order, receive the replies, and return the environment's reply."""
        self.malformed += len(turn.errors)
        if turn.errors and self.on_malformed == "end":
            return EnvReply(done=True, ending=Ending("policy_error", turn.errors[0]))
        if not turn.calls and not turn.errors:
            return EnvReply(done=True)
        messages: list[Message] = []
        replies: list[ToolReply] = []
        for number, call in enumerate(turn.calls):
            ending: Ending | None = None
            if call.name in self.offered:
                tool = self.offered[call.name]
                reply = yield tool, call, derive_seed(seed, number)
                ending = fault.ending(reply, timeout_is=tool.timeout_is)
            else:
                outcome = fault.unknown(call.name, offered=self.offered)
                reply = ToolReply(call.id, call.name, outcome.content, outcome.status, images=outcome.images)
            self.replies[reply.status] += 1
            replies.append(reply)
            if ending is not None:
                return EnvReply(tuple(messages), tuple(replies), done=True, ending=ending)
            messages.append(Message("tool", reply.content, call_id=call.id, name=call.name, images=reply.images))
            self.images += reply.images
            if reply.status == "ok" and call.name in self.final:
                return EnvReply(tuple(messages), tuple(replies), done=True)
        messages += [Message("tool", fault.unparsed(error)) for error in turn.errors]
        return EnvReply(tuple(messages), tuple(replies))

    def report(self) -> Mapping[str, Any]:
        state: dict[str, Any] = {}
        for owner in self.owners:
            if isinstance(owner, SupportsReport):
                name = type(owner).__name__
                count = sum(key.split(" ")[0] == name for key in state)
                state[f"{name} {count + 1}" if count else name] = dict(owner.report())
        return {"replies": dict(self.replies), "malformed": self.malformed, "state": state}

    def snapshot(self) -> Any:
        return self.replies.copy(), self.malformed, self.images, [owner.snapshot() for owner in self._forkable()]

    def restore(self, state: Any) -> None:
        replies, self.malformed, self.images, states = state
        self.replies = replies.copy()
        for owner, part in zip(self._forkable(), states, strict=True):
            owner.restore(part)

    def close(self) -> None:
        _close(self.owners)

    def _forkable(self) -> list[SupportsFork]:
        unsupported = sorted(type(owner).__name__ for owner in self.owners if not isinstance(owner, SupportsFork))
        if unsupported:
            raise InputError(f"{unsupported} cannot be forked: add snapshot() and restore(state)")
        return [owner for owner in self.owners if isinstance(owner, SupportsFork)]


def _make(entries: Sequence[ToolSource]) -> list[Tool]:
    """Make the tools of a rollout, in order; if a tool cannot be made, earlier ones are closed."""
    tools: list[Tool] = []
    try:
        for entry in entries:
            tools += collect_tools(entry if isinstance(entry, Tool) else entry())
    except BaseException:
        _close(_owners(tools))
        raise
    return tools


def _most(entries: Sequence[ToolSource]) -> int | None:
    """Compute the bound on open environments from the bounds of the tool factories and their multiplicities."""
    bounds = [(getattr(entry, "most", None), entries.count(entry)) for entry in entries]
    return min((max(most // count, 1) for most, count in bounds if most is not None), default=None)


def _owners(tools: list[Tool]) -> list[Any]:
    """List the objects with state, without duplicates."""
    return list({id(tool.owner): tool.owner for tool in tools if tool.owner is not None}.values())


def _close(owners: list[Any]) -> None:
    """Close all owners, even if one fails; then raise for the failures."""
    failures = []
    for owner in owners:
        if isinstance(owner, SupportsClose):
            try:
                owner.close()
            except Exception as error:
                failures.append(f"{type(owner).__name__}: {error!r}")
    if failures:
        raise InfrastructureError(f"tools did not close: {'; '.join(failures)}")


def _check_task(task: Task, names: set[str]) -> None:
    if not task.messages:
        raise TaskError(f"task {task.id!r} has no messages: give it at least a question")
    for name in task.tools or ():
        if name not in names:
            close = difflib.get_close_matches(name, names)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {sorted(names)}"
            raise TaskError(f"task {task.id!r} offers the unknown tool {name!r}; {hint}")
