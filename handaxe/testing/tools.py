"""The contracts of tools and environments."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.decorator import Tool

__all__ = ["check_env", "check_mcp", "check_no_leak", "check_tool"]


def check_tool(tool: Tool, *, arguments: Mapping[str, Any]) -> ToolReply:
    """Check that a tool describes itself and answers good and bad calls.

    The schema is JSON of type object with a description; `arguments` are accepted and answered with status "ok"; a
    parameter that does not exist and, where one is required, none at all are "invalid"; the call's id and name come
    back; content is text within `max_chars` that UTF-8 can say.

    Args:
        tool: its state is changed by the call.
        arguments: of a call that works.

    Returns:
        The reply to that call.

    Raises:
        AssertionError: saying which of these does not hold.
    """
    schema = tool.schema
    _expect(json.loads(json.dumps(dict(schema.parameters))) == schema.parameters, "the schema is not JSON")
    _expect(schema.parameters.get("type") == "object", f"the schema is of type {schema.parameters.get('type')!r}")
    _expect(bool(schema.description.strip()), "the description is empty")
    required = schema.parameters.get("required", [])
    _expect(set(required) <= set(schema.parameters.get("properties", {})), "a required parameter is not described")
    _status(_run(tool, {**arguments, "no_such_parameter": 1}), "invalid")
    if required:
        _status(_run(tool, {}), "invalid")
    reply = _run(tool, arguments)
    _status(reply, "ok")
    return reply


def check_env(factory: EnvFactory, task: Task) -> None:
    """Check that an environment opens, answers an unknown call and an empty turn, reports, forks and closes.

    A call to a tool that does not exist is answered, as "invalid", or ends the attempt as its own fault. `restore`
    of a snapshot brings the report back. `close` is called once.

    Args:
        factory: what makes it.
        task: any it accepts.

    Raises:
        AssertionError: saying which of these does not hold.
    """
    env = factory(task)
    try:
        messages, schemas = env.start()
        _expect(bool(messages), "it opens without a message")
        _expect(all(isinstance(message, Message) for message in messages), "an opening message is not a Message")
        _expect(all(isinstance(schema, ToolSchema) for schema in schemas), "a tool offered is not a ToolSchema")
        names = [schema.name for schema in schemas]
        _expect(len(set(names)) == len(names), f"tools of one name are offered: {names}")
        before, state = _report(env), env.snapshot()
        turn = ParsedTurn("", (ToolCall("no_such_tool", {}, "c0"),))
        reply = env.step(turn, seed=0)
        _check_reply(turn, reply)
        for item in reply.replies:
            _status(item, "invalid")
        _expect(reply.ending is None or reply.ending.kind == "policy_error", f"it ended as {reply.ending}")
        env.restore(state)
        _expect(_report(env) == before, "the report differs after restoring a snapshot")
        _check_reply(ParsedTurn(""), env.step(ParsedTurn(""), seed=0))
        _report(env)
    finally:
        env.close()


def check_no_leak(factory: EnvFactory, task: Task, *, write: Callable[[str], ParsedTurn], read: ParsedTurn) -> None:
    """Check that what one rollout writes no other can read, be it live at the same time or made later.

    Args:
        factory: what makes the environments.
        task: any it accepts.
        write: a turn that leaves its argument in the environment's state.
        read: a turn whose reply shows that state.

    Raises:
        AssertionError: another rollout saw the nonce; or the writer itself did not, so that nothing was checked.
    """
    nonce = "nonce-5f1c07"
    with ExitStack() as stack:
        beside, writer = _opened(stack, factory, task), _opened(stack, factory, task)
        writer.step(write(nonce), seed=0)
        seen = {"the writer": _text(writer.step(read, seed=1)), "one beside it": _text(beside.step(read, seed=1))}
    with ExitStack() as stack:
        seen["a later one"] = _text(_opened(stack, factory, task).step(read, seed=1))
    _expect(nonce in seen.pop("the writer"), "the writer cannot read what it wrote, so the check says nothing")
    for who, text in seen.items():
        _expect(nonce not in text, f"{who} can read what another rollout wrote: {text[:200]!r}")


def check_mcp(factory: Callable[[], Any], call: Callable[[str], Sequence[ToolCall]]) -> None:
    """Check that the sessions of an MCP server share nothing: what one makes it keep no other finds, be it open at the
    same time or begun later. A server that keeps its state in a file shares it, for example, unless that file lies in
    "{folder}".

    Args:
        factory: what `tools.mcp.mcp` made.
        call: given a word, the calls that leave it with the server; the last one reads what is there, without naming
            the word itself.

    Raises:
        AssertionError: another session found the word; or the one that left it did not, so that nothing was checked.

    Example:
        call = lambda word: [ToolCall("write", {"text": word}, "c0"), ToolCall("read", {}, "c1")]
        check_mcp(mcp(command=["python", "server.py"], cwd="."), call)
    """

    def write(nonce: str) -> ParsedTurn:
        return ParsedTurn("", tuple(call(nonce)[:-1]))

    task = Task("check_mcp", (Message("user", "?"),))
    check_no_leak(tool_chat([factory]), task, write=write, read=ParsedTurn("", (call("")[-1],)))


def _opened(stack: ExitStack, factory: EnvFactory, task: Task) -> Env:
    env = factory(task)
    stack.callback(env.close)
    env.start()
    return env


def _run(tool: Tool, arguments: Mapping[str, Any]) -> ToolReply:
    reply = tool.run(ToolCall(tool.schema.name, dict(arguments), "call-7"), seed=0)
    _expect((reply.call_id, reply.name) == ("call-7", tool.schema.name), "the reply names another call")
    _expect(len(reply.content) <= tool.max_chars, f"the reply has {len(reply.content)} characters")
    reply.content.encode()
    return reply


def _status(reply: ToolReply, status: str) -> None:
    _expect(reply.status == status, f"expected status {status!r}, got {reply.status!r}: {reply.content[:200]}")


def _check_reply(turn: ParsedTurn, reply: EnvReply) -> None:
    made = [call.id for call in turn.calls]
    _expect(all(item.call_id in made for item in reply.replies), "a reply answers a call that was not made")
    _expect(reply.done or bool(reply.messages), "it goes on without telling the policy anything")
    _expect(reply.done or reply.ending is None, "it names an ending but is not done")


def _report(env: Env) -> Mapping[str, Any]:
    report = dict(env.report())
    _expect(json.loads(json.dumps(report)) == report, "the report is not JSON")
    return report


def _text(reply: EnvReply) -> str:
    return "\n".join(message.content for message in reply.messages)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
