"""Contracts of tools and environments."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.decorator import Tool

__all__ = ["check_env", "check_mcp", "check_no_leak", "check_tool"]


def check_tool(tool: Tool, *, arguments: Mapping[str, Any], images: tuple[Image, ...] = ()) -> ToolReply:
    """Check the contract of a tool: description, and replies to good and bad calls.

    The schema is JSON of type object with a description; `arguments` give status "ok"; an unknown parameter and, if a
    parameter is required, no arguments are "invalid"; the reply has the call's id and name; content is text within
    `max_chars` that UTF-8 can encode, with one placeholder for each image, of which there are at most `max_images`. A
    tool without state returns equal images for equal seeds. A number without image is "retry".

    Args:
        tool: the call changes its state.
        arguments: of a valid call.
        images: of the conversation before the call.

    Returns:
        The reply to that call.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    schema = tool.schema
    _expect(json.loads(json.dumps(dict(schema.parameters))) == schema.parameters, "the schema is not JSON")
    _expect(schema.parameters.get("type") == "object", f"the schema is of type {schema.parameters.get('type')!r}")
    _expect(bool(schema.description.strip()), "the description is empty")
    required = schema.parameters.get("required", [])
    _expect(set(required) <= set(schema.parameters.get("properties", {})), "a required parameter is not described")
    _status(_run(tool, {**arguments, "no_such_parameter": 1}, images), "invalid")
    if required:
        _status(_run(tool, {}, images), "invalid")
    reply = _run(tool, arguments, images)
    _status(reply, "ok")
    if reply.images and tool.owner is None:
        _expect(_run(tool, arguments, images).images == reply.images, "one seed gives other images")
    for name in tool.definition.images:
        if isinstance(arguments.get(name), int):
            _status(_run(tool, {**arguments, name: len(images) + 1}, images), "retry")
    return reply


def check_env(factory: EnvFactory, task: Task, *, turn: ParsedTurn | None = None) -> None:
    """Check the contract of an environment: opening, unknown call, empty turn, report, fork and close.

    A call to an unknown tool is answered as "invalid", or ends the rollout as policy_error. `restore` of a snapshot
    restores the report. Every message has one placeholder for each image. `close` is called once.

    Args:
        factory: of the environment.
        task: any accepted task.
        turn: a turn that is played after a snapshot and again after its restoration, with equal messages, images
            included; None for no such check.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    env = factory(task)
    try:
        messages, schemas = env.start()
        _expect(bool(messages), "it opens without a message")
        _expect(all(isinstance(message, Message) for message in messages), "an opening message is not a Message")
        _check_images(messages)
        _expect(all(isinstance(schema, ToolSchema) for schema in schemas), "a tool offered is not a ToolSchema")
        names = [schema.name for schema in schemas]
        _expect(len(set(names)) == len(names), f"tools of one name are offered: {names}")
        before, state = _report(env), env.snapshot()
        if turn is not None:
            first = env.step(turn, seed=0)
            _check_reply(turn, first)
            env.restore(state)
            _expect(env.step(turn, seed=0).messages == first.messages, "a turn after restoring has another reply")
            env.restore(state)
        unknown = ParsedTurn("", (ToolCall("no_such_tool", {}, "c0"),))
        reply = env.step(unknown, seed=0)
        _check_reply(unknown, reply)
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
    """Check the isolation of rollouts, live at the same time or one after another.

    Args:
        factory: of the environments.
        task: any accepted task.
        write: makes a turn that stores its argument in the environment's state.
        read: a turn whose reply shows that state.

    Raises:
        AssertionError: another rollout reads the nonce; or the writer does not, so that nothing was checked.
    """
    nonce = "nonce-5f1c07"
    with ExitStack() as stack:
        other, writer = _opened(stack, factory, task), _opened(stack, factory, task)
        writer.step(write(nonce), seed=0)
        seen = {"the writer": _text(writer.step(read, seed=1)), "a parallel one": _text(other.step(read, seed=1))}
    with ExitStack() as stack:
        seen["a later one"] = _text(_opened(stack, factory, task).step(read, seed=1))
    _expect(nonce in seen.pop("the writer"), "the writer cannot read its own text, so nothing is checked")
    for who, text in seen.items():
        _expect(nonce not in text, f"{who} can read what another rollout wrote: {text[:200]!r}")


def check_mcp(factory: Callable[[], Any], call: Callable[[str], Sequence[ToolCall]]) -> None:
    """Check the isolation of sessions of an MCP server, open at the same time or one after another. A server with its
    state in a file shares state, for example, unless the file is in "{folder}".

    Args:
        factory: made by `tools.mcp.mcp`.
        call: for a word, the calls that store it in the server; the last call reads the state, without containing the
            word.

    Raises:
        AssertionError: another session reads the word; or the session that stored it does not, so that nothing was
            checked.

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


def _run(tool: Tool, arguments: Mapping[str, Any], images: tuple[Image, ...] = ()) -> ToolReply:
    reply = tool.run(ToolCall(tool.schema.name, dict(arguments), "call-7"), seed=0, images=images)
    _expect((reply.call_id, reply.name) == ("call-7", tool.schema.name), "the reply names another call")
    length = len(reply.content) - len(reply.images)
    _expect(length <= tool.max_chars, f"the reply has {length} characters")
    _expect(len(reply.images) <= tool.max_images, f"the reply has {len(reply.images)} images")
    _check_images([reply])
    reply.content.encode()
    return reply


def _status(reply: ToolReply, status: str) -> None:
    _expect(reply.status == status, f"expected status {status!r}, got {reply.status!r}: {reply.content[:200]}")


def _check_reply(turn: ParsedTurn, reply: EnvReply) -> None:
    made = [call.id for call in turn.calls]
    _check_images([*reply.messages, *reply.replies])
    _expect(all(item.call_id in made for item in reply.replies), "a reply answers a call that was not made")
    _expect(reply.done or bool(reply.messages), "it goes on without a message to the policy")
    _expect(reply.done or reply.ending is None, "it names an ending but is not done")


def _check_images(said: Sequence[Message | ToolReply]) -> None:
    for one in said:
        count = one.content.count(PLACEHOLDER) if one.images else 0
        _expect(count == len(one.images), f"a text has {count} placeholders for {len(one.images)} images")


def _report(env: Env) -> Mapping[str, Any]:
    report = dict(env.report())
    _expect(json.loads(json.dumps(report)) == report, "the report is not JSON")
    return report


def _text(reply: EnvReply) -> str:
    return "\n".join(message.content for message in reply.messages)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
