"""A conversation with tools: the environment most runs use."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

from handaxe.core.errors import HandaxeError, InfrastructureError, InputError, TaskError, ToolDefinitionError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.ops.seeds import derive_seed
from handaxe.tools import fault
from handaxe.tools.deadline import Threads
from handaxe.tools.decorator import Tool
from handaxe.tools.schema import check_names
from handaxe.tools.state import Closes, Forks, Offered, Reports, entries_of, tools_of

__all__ = ["tool_chat"]

OnMalformed = Literal["reply", "end"]


def tool_chat(
    tools: Sequence[Offered | Sequence[Offered]], *, on_malformed: OnMalformed = "reply", final: Sequence[str] = ()
) -> EnvFactory:
    """Make an environment that carries out a policy's calls until a turn makes none, or one that is final.

    One turn of the policy is answered so:

        no call, nothing malformed    the trajectory is completed
        calls                         carried out in order, one tool message each
        malformed calls               one tool message each, after those of the calls; or with on_malformed="end" the
                                      trajectory ends as policy_error and nothing of the turn is carried out
        the reply to a call of a      the trajectory is completed; later calls of the turn are not carried out
        tool in `final` is ok
        a reply is infra_error,       the trajectory ends as infra_error; the reply is in the record, the policy never
        or a timeout that is not      reads it, and later calls of the turn are not carried out
        the policy's fault

    A call to a tool that does not exist or was not offered is answered with status "invalid".

    Args:
        tools: each a tool, a list or tuple of tools, or a function without arguments that makes for every rollout a
            new tool, an object whose methods are tools, or a list of these. State lives in such an object alone. If it
            has `snapshot` and `restore`, a rollout may fork it; if it has `close`, that is called at the end; if it has
            `report`, rewards find the facts under its class's name (a second one of that class as `Name 2`).
        on_malformed: "reply" tells the policy, "end" ends the trajectory.
        final: names of tools that end an attempt, such as one that takes the answer. A call of such a tool that is
            refused or fails ends nothing; see extract.argument for a reward of what the call said.

    Returns:
        An EnvFactory. Its `astep` awaits async tools and runs the others in the driver's threads. It is
        `slots.Bounded` where what makes the tools says how many it may make (`most`), as `mcp` does.
        `report()` is {"replies": {status: count}, "malformed": count, "state": {class: report}}.

    Raises:
        ToolDefinitionError: two tools of one name, an entry that is no tool or needs arguments, or a tool that already
            belongs to an object, whose state would leak from one rollout into another. Every factory is called once
            to see. A name in `final` that no tool has.
        TaskError: by the factory, for a task without messages or that offers an unknown tool.

    Example:
        env = tool_chat([calculator, python])(task); env.start(); env.step(turn, seed=0); env.close()
    """
    entries = entries_of(tools, whose="rollouts")
    probe = _make(entries)
    check_names([tool.schema for tool in probe])
    _close(_owners(probe))
    names = {tool.schema.name for tool in probe}
    if unknown := sorted(set(final) - names):
        raise ToolDefinitionError(f"final names {unknown}, which are no tools; there are {sorted(names)}")

    def factory(task: Task) -> _ToolChat:
        _check_task(task, names)
        try:
            made = _make(entries)
        except HandaxeError:
            raise
        except Exception as error:
            raise InfrastructureError(f"the tools of task {task.id!r} cannot be made: {error!r}") from error
        return _ToolChat(task, made, on_malformed, frozenset(final))

    most = _most(entries)
    if most is not None:
        factory.most = most  # type: ignore[attr-defined]
    return factory


class _ToolChat:
    """Implements `slots.Env`."""

    def __init__(self, task: Task, tools: list[Tool], on_malformed: OnMalformed, final: frozenset[str]):
        self.task = task
        self.owners = _owners(tools)
        self.offered = {t.schema.name: t for t in tools if task.tools is None or t.schema.name in task.tools}
        self.on_malformed = on_malformed
        self.final = final
        self.replies: Counter[str] = Counter()
        self.malformed = 0

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
            reply = tool.run(call, seed=call_seed)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        plan = self._answer(turn, seed)
        reply: ToolReply | None = None
        while True:
            try:
                tool, call, call_seed = plan.send(reply)
            except StopIteration as over:
                return over.value
            reply = await tool.arun(call, seed=call_seed, threads=threads)

    def _answer(self, turn: ParsedTurn, seed: int) -> Generator[tuple[Tool, ToolCall, int], Any, EnvReply]:
        """Answer one turn; yields what is to be called, one after the other, and receives the replies."""
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
                reply = ToolReply(call.id, call.name, outcome.content, outcome.status)
            self.replies[reply.status] += 1
            replies.append(reply)
            if ending is not None:
                return EnvReply(tuple(messages), tuple(replies), done=True, ending=ending)
            messages.append(Message("tool", reply.content, call_id=call.id, name=call.name))
            if reply.status == "ok" and call.name in self.final:
                return EnvReply(tuple(messages), tuple(replies), done=True)
        messages += [Message("tool", fault.unparsed(error)) for error in turn.errors]
        return EnvReply(tuple(messages), tuple(replies))

    def report(self) -> Mapping[str, Any]:
        state: dict[str, Any] = {}
        for owner in self.owners:
            if isinstance(owner, Reports):
                name = type(owner).__name__
                same = sum(key.split(" ")[0] == name for key in state)
                state[f"{name} {same + 1}" if same else name] = dict(owner.report())
        return {"replies": dict(self.replies), "malformed": self.malformed, "state": state}

    def snapshot(self) -> Any:
        return self.replies.copy(), self.malformed, [owner.snapshot() for owner in self._forkable()]

    def restore(self, state: Any) -> None:
        replies, self.malformed, states = state
        self.replies = replies.copy()
        for owner, part in zip(self._forkable(), states, strict=True):
            owner.restore(part)

    def close(self) -> None:
        _close(self.owners)

    def _forkable(self) -> list[Forks]:
        stuck = sorted(type(owner).__name__ for owner in self.owners if not isinstance(owner, Forks))
        if stuck:
            raise InputError(f"{stuck} cannot be forked: give them snapshot() and restore(state)")
        return [owner for owner in self.owners if isinstance(owner, Forks)]


def _make(entries: Sequence[Offered]) -> list[Tool]:
    """This rollout's tools, in order; when one cannot be made, those before it are closed."""
    made: list[Tool] = []
    try:
        for entry in entries:
            made += tools_of(entry if isinstance(entry, Tool) else entry())
    except BaseException:
        _close(_owners(made))
        raise
    return made


def _most(entries: Sequence[Offered]) -> int | None:
    """How many environments may be open, given how often each entry may be made."""
    bounds = [(getattr(one, "most", None), entries.count(one)) for one in entries]
    return min((max(most // each, 1) for most, each in bounds if most is not None), default=None)


def _owners(tools: list[Tool]) -> list[Any]:
    """The objects that hold state, each once."""
    return list({id(tool.owner): tool.owner for tool in tools if tool.owner is not None}.values())


def _close(owners: list[Any]) -> None:
    """Close all, even when one fails; then say which did."""
    failures = []
    for owner in owners:
        if isinstance(owner, Closes):
            try:
                owner.close()
            except Exception as error:
                failures.append(f"{type(owner).__name__}: {error!r}")
    if failures:
        raise InfrastructureError(f"tools did not close: {'; '.join(failures)}")


def _check_task(task: Task, names: set[str]) -> None:
    if not task.messages:
        raise TaskError(f"task {task.id!r} has no messages: it needs at least a question")
    for name in task.tools or ():
        if name not in names:
            close = difflib.get_close_matches(name, names)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {sorted(names)}"
            raise TaskError(f"task {task.id!r} offers the tool {name!r}, which the environment lacks; {hint}")
