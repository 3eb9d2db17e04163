"""Conformance of a chat template: tools, calls, results, thoughts, growth of a sequence, ends, and untrusted text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, ToolCall, ToolSchema
from handaxe.doctor.chat_format_checks import check_control_text, check_stops
from handaxe.doctor.finding import Finding
from handaxe.models.chat_formats.chat_template import ChatTemplate

__all__ = ["Trait", "check_template"]

TOOL = ToolSchema(
    "look_up",
    "Look up a word in the dictionary.",
    {
        "type": "object",
        "properties": {
            "word": {"type": "string"},
            "most": {"type": "integer"},
            "filter": {"type": "object", "properties": {}},
        },
        "required": ["word"],
    },
)
NESTED = {"any": [1, 2.5, None, True, {"deep": 'a "quoted" \\ word\nand a line'}], "none": {}}
CALL = ToolCall("look_up", {"word": "flint", "most": 2}, "c0")
SECOND = ToolCall("look_up", {"word": "core", "most": 3}, "c1")
UNUSUAL = ToolCall("look_up", {"word": "na\u00efve \u6253\u88fd \U0001fab5 12", "most": -3, "filter": NESTED}, "c0")
QUESTION, NEXT = Message("user", "What is flint?"), Message("user", "And a core?")
REPLY = Message("tool", "a hard stone", call_id="c0", name=TOOL.name)
SECOND_REPLY = Message("tool", "a stone with scars", call_id="c1", name=TOOL.name)
THOUGHT = "<think>\nthe dictionary has it\n</think>\n\n"
ROWS = "a rollout of several turns becomes several rows, each with a prompt of its own: correct, but slower"


class Trait(NamedTuple):
    """Result of a conformance check.

    short is a few words, for a table of several templates; `finding` has level and detail.
    """

    short: str
    finding: Finding


def check_template(format: ChatTemplate) -> list[Trait]:
    """Check the format of a chat template.

    Returns:
        One trait per check. An error is a difference between sampled, parsed and rendered text. A new sequence after a
        turn is a warning. Declared limits, such as one call per turn, are ok.

    Example:
        [trait.short for trait in check_template(ChatTemplate(tokenizer))]
    """
    checks: dict[str, Callable[[ChatTemplate], tuple[str, Finding]]] = {
        "tools": _tools,
        "one call": lambda format: _parsed(format, "one call", (CALL,)),
        "two calls": lambda format: _parsed(format, "two calls", (CALL, SECOND)),
        "nested, unicode": lambda format: _parsed(format, "nested, unicode", (UNUSUAL,)),
        "results": _results,
        "after a call": lambda format: _growth(format, "after a call", Message("assistant", "", (UNUSUAL,)), [REPLY]),
        "second call": lambda format: _growth(
            format,
            "second call",
            Message("assistant", "", (SECOND,)),
            [SECOND_REPLY],
            before=[QUESTION, Message("assistant", "", (CALL,)), REPLY],
        ),
        "after an answer": lambda format: _growth(format, "after an answer", Message("assistant", "A stone."), [NEXT]),
        "thought, call": lambda format: _thought(format, "thought, call", (CALL,), [REPLY]),
        "thought, answer": lambda format: _thought(format, "thought, answer", (), [NEXT]),
        "stop ids": _stops,
        "control text": _control_text,
        "cut calls": _cut_calls,
    }
    found = []
    for name, check in checks.items():
        try:
            found.append(Trait(*check(format)))
        except InputError as error:
            found.append(Trait("refused", Finding(name, "error", f"refused: {error}", "fix the chat template")))
    return found


def _error(check: str, short: str, detail: str) -> tuple[str, Finding]:
    return short, Finding(check, "error", f"{short}: {detail}", "fix the chat template, or pass calls= to ChatTemplate")


def _ok(check: str, short: str, detail: str) -> tuple[str, Finding]:
    return short, Finding(check, "ok", f"{short}: {detail}")


# --- calls -----------------------------------------------------------------------------------------------------------


def _tools(format: ChatTemplate) -> tuple[str, Finding]:
    opening = format.decode(format.start([QUESTION], [TOOL]).ids)
    if TOOL.name not in opening or TOOL.description not in opening:
        return _error("tools", "missing", "the opening lacks the name or the description of a tool")
    if format.native_tools:
        return _ok("tools", "template", "rendered by the template")
    where = "calls and results by the template" if format.style.native else "calls and results as text of messages"
    return _ok("tools", "message", f"described in a message, because the template has no tools; {where}")


def _parsed(format: ChatTemplate, check: str, calls: Sequence[ToolCall]) -> tuple[str, Finding]:
    if len(calls) > 1 and not format.parallel_calls:
        return _ok(check, "one a turn", "the template has one call per turn; a sampled turn with more is an error")
    ids = format.encode_turn(Message("assistant", "", tuple(calls)), [TOOL])
    parsed = format.parse(ids, [TOOL])
    pairs = [[(call.name, dict(call.arguments)) for call in group] for group in (parsed.calls, calls)]
    if parsed.errors or parsed.text or pairs[0] != pairs[1]:
        return _error(check, "altered", f"{format.decode(ids)!r} is parsed as {parsed}")
    return _ok(check, "equal", "parsed as written")


def _results(format: ChatTemplate) -> tuple[str, Finding]:
    count = 2 if format.parallel_calls else 1
    called, replies = Message("assistant", "", (CALL, SECOND)[:count]), [REPLY, SECOND_REPLY][:count]
    whole = format.start([QUESTION, called, *replies], [TOOL])
    words = format.decode([i for i, who in zip(whole.ids, whole.authors) if who == Author.TOOL])
    places = [words.find(reply.content) for reply in replies]
    if -1 in places or places != sorted(places):
        return _error("results", "missing", f"the results decode to {words!r}")
    role = "in its role for tools" if format.style.native else "in a user message"
    return _ok("results", "template" if format.style.native else "message", f"{len(replies)} rendered {role}, in order")


def _cut_calls(format: ChatTemplate) -> tuple[str, Finding]:
    """Parse a turn with a call that stops after each of its ids."""
    ids, total = format.encode_turn(Message("assistant", "", (CALL,)), [TOOL]), 0
    for count in range(1, len(ids) - 1):
        cut = [*ids[:count], ids[-1]]
        parsed, shown = format.parse(cut, [TOOL]), format.decode(cut)
        begun = '"word' in shown or "<arg_key>word" in shown
        if any(dict(call.arguments) != dict(CALL.arguments) for call in parsed.calls):
            return _error("cut calls", "altered", f"{shown!r} is parsed as {parsed.calls}")
        if begun and not parsed.calls and not parsed.errors:
            return _error("cut calls", "silent", f"{shown!r} is neither a call nor an error")
        total += bool(parsed.errors)
    return _ok("cut calls", "errors", f"a call cut inside its arguments is an error ({total} of {len(ids) - 2} cuts)")


# --- sequences -------------------------------------------------------------------------------------------------------


def _extended(
    format: ChatTemplate, turn: Message, new: Sequence[Message], *, before: Sequence[Message] = (QUESTION,)
) -> tuple[bool, bool]:
    """Extend a conversation by a turn; returns equality with the whole conversation, and True for a fresh sequence."""
    opening, ids = format.start(before, [TOOL]), format.encode_turn(turn, [TOOL])
    part = format.extend([*before, turn], new, ids, [TOOL])
    grown = list(part.ids) if part.fresh else [*opening.ids, *ids, *part.ids]
    return grown == list(format.start([*before, turn, *new], [TOOL]).ids), part.fresh


def _growth(
    format: ChatTemplate,
    check: str,
    turn: Message,
    new: Sequence[Message],
    *,
    before: Sequence[Message] = (QUESTION,),
) -> tuple[str, Finding]:
    equal, fresh = _extended(format, turn, new, before=before)
    if not equal:
        return _error(
            check, "differs", "sampled ids and rendered ids differ, so training has ids that were not sampled"
        )
    if fresh:
        text = "new sequence: the template renders the turn in another form later"
        return "new sequence", Finding(check, "warning", text, ROWS)
    return _ok(check, "appends", "the ids are those of the whole conversation, id for id")


def _thought(
    format: ChatTemplate, check: str, calls: Sequence[ToolCall], new: Sequence[Message]
) -> tuple[str, Finding]:
    turn = Message("assistant", THOUGHT if calls else f"{THOUGHT}A stone.", tuple(calls))
    equal, fresh = _extended(format, turn, new)
    if not equal:
        return _error(check, "differs", "sampled ids and rendered ids differ after a turn with a thought")
    whole = format.decode(format.start([QUESTION, turn, *new], [TOOL]).ids)
    kept, later = "the dictionary has it" in whole, "after the tool result" if calls else "after the next question"
    if kept and not fresh:
        return _ok(check, "kept", f"the thought stays in the sequence {later}")
    short = "kept, new sequence" if kept else "dropped, new sequence"
    if not fresh:
        return _error(check, "dropped", f"the template drops the thought {later}, and the sequence goes on")
    return short, Finding(check, "warning", f"{short}: {later}", ROWS)


# --- ends and text ---------------------------------------------------------------------------------------------------


def _stops(format: ChatTemplate) -> tuple[str, Finding]:
    found = check_stops(format)
    names = " ".join(format.decode([i]) for i in sorted(format.stop_ids))
    return (names if found.level == "ok" else found.level), replace(found, check="stop ids")


def _control_text(format: ChatTemplate) -> tuple[str, Finding]:
    found = check_control_text(format)
    return ("text" if found.level == "ok" else found.level), found
