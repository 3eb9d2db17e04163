"""User of a conversation in tau2: view, tools and a rule for the replies.

A user sees the scenario, the agent's texts and the replies of the user's own tools; never the agent's calls and their
replies. In a turn the user either speaks or calls tools. The reply is a function of this view: the rule of this file,
or an engine that reads the same messages.

    view      system: guidelines and scenario | user: the agent's words | assistant: the user's | tool: the phone's
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, ToolCall, ToolSchema
from handaxe.envs.with_user import STOP
from handaxe.worlds.tau2.phone import TRANSFER_NOTICE, diagnostic_tool, is_solved, requested_actions

__all__ = [
    "Customer",
    "MANNERS",
    "Manner",
    "OUT_OF_SCOPE",
    "STOP",
    "TRANSFER",
    "WORRIES",
    "ended",
    "first_person",
    "manner",
    "rule",
]

TRANSFER = "###TRANSFER###"
OUT_OF_SCOPE = "###OUT-OF-SCOPE###"
WORRIES = ("What? Say it again.", "Will that be safe?", "Sorry, what?")
OPENINGS = ("Okay. ", "I did. ", "Here: ")
PATIENCE = 4
"""Consecutive messages without a possible action or known fact before the user gives up."""


class Manner(NamedTuple):
    """Behaviour of a scripted user, as probabilities.

    balks: does not do a requested action at first, so that the request must be repeated.
    chats: adds text to the phone's reply.
    """

    balks: float
    chats: float


MANNERS: Mapping[str, Manner] = {
    "static": Manner(0.0, 0.0),
    "plain": Manner(0.1, 0.3),
    "easy": Manner(0.2, 0.6),
    "hard": Manner(0.5, 0.6),
}
"""By persona. The package's personas None, Easy and Hard are plain, easy and hard; static is deterministic."""


class Customer:
    """State of the user; `hear` and `act` change it, and a rule or an engine reads `view`.

    Args:
        prompt: the system message: guidelines and scenario.
        opening: text of the user before the agent's first turn.
        tools: the user's tools.
        carry: executes one call and returns the phone's reply.
    """

    def __init__(self, prompt: str, opening: str, tools: Sequence[ToolSchema], carry: Callable[[ToolCall], str]):
        self.tools, self.carry = tuple(tools), carry
        self.view: list[Message] = [Message("system", prompt), Message("assistant", opening)]

    def hear(self, text: str) -> None:
        """Add a text of the agent."""
        self.view.append(Message("user", text))

    def act(self, turn: ParsedTurn) -> str | None:
        """Add a turn of the user. Return the text, or None for a turn with calls: then the user continues."""
        if not turn.calls:
            self.view.append(Message("assistant", turn.text))
            return turn.text
        self.view.append(Message("assistant", "", turn.calls))
        for call in turn.calls:
            self.view.append(Message("tool", self.carry(call), call_id=call.id, name=call.name))
        return None

    @property
    def acts(self) -> int:
        """Number of turns with calls since the agent's last text."""
        return sum(bool(one.calls) for one in self.view[self._heard() :])

    def _heard(self) -> int:
        return max((n for n, one in enumerate(self.view) if one.role == "user"), default=0)


def ended(text: str) -> str:
    """Find the ending word of a conversation in a user's text; "" without an ending word."""
    return next((word for word in (STOP, TRANSFER, OUT_OF_SCOPE) if word in text), "")


def manner(persona: str) -> Manner:
    """Return the behaviour of a persona. Raises InputError for an unknown persona."""
    if persona not in MANNERS:
        raise InputError(f"there is no user {persona[:40]!r} in tau2: choose of {', '.join(MANNERS)}")
    return MANNERS[persona]


def rule(view: Sequence[Message], raw: Mapping[str, Any], manner: Manner, rng: random.Random) -> ParsedTurn:
    """Compute the next turn of a scripted user, with information from the scenario and the phone's replies only.

    With a phone (telecom): does the single device action that the agent named and reports the phone's reply; then
    checks, unseen by the agent, whether the problem is solved, and if so ends the conversation. Asked for name or
    place, reports the scenario's facts. Asked for two actions, asks for one.
    Without (retail, airline): agrees to confirmations, and reports one more piece of the scenario in each turn, until
    all are reported; then ends the conversation.

    Args:
        view: the user's messages, see the module.
        raw: the task as in the package.
        manner: probabilities of balking and chatting.
        rng: source of random numbers.
    """
    heard = [one.content for one in view if one.role == "user"]
    text = heard[-1] if heard else ""
    if TRANSFER_NOTICE.search(text):
        return ParsedTurn(TRANSFER)
    if str(raw["id"]).startswith("["):
        return _with_phone(view, text, heard, raw, manner, rng)
    return _without_phone(view, text, raw)


def _with_phone(
    view: Sequence[Message],
    text: str,
    heard: Sequence[str],
    raw: Mapping[str, Any],
    manner: Manner,
    rng: random.Random,
) -> ParsedTurn:
    replies = _replies(view)
    look = diagnostic_tool(str(raw["id"]))
    if replies:
        if look not in [one.name for one in replies]:
            return _call(look, {}, len(view))
        found = next(one.content for one in replies if one.name == look)
        if is_solved(look, found):
            return ParsedTurn(f"It works now, thank you. {STOP}")
        return ParsedTurn(_opening(manner, rng) + replies[0].content)
    asked = requested_actions(text)
    if len(asked) > 1:
        return ParsedTurn("I can do only one thing at a time. Which one first?")
    if asked:
        balked = view[-2].content in WORRIES
        if not balked and rng.random() < manner.balks:
            return ParsedTurn(rng.choice(WORRIES))
        return _call(asked[0].tool, asked[0].arguments, len(view))
    if re.search(r"\b(name|phone number|who|where|abroad|location|travel\w*)\b", text.lower()):
        return ParsedTurn(first_person(str(raw["user_scenario"]["instructions"]["known_info"])))
    if len(heard) >= PATIENCE and not any(requested_actions(one) for one in heard[-PATIENCE:]):
        return ParsedTurn(OUT_OF_SCOPE)
    return _call(look, {}, len(view))


def _without_phone(view: Sequence[Message], text: str, raw: Mapping[str, Any]) -> ParsedTurn:
    said = " ".join(one.content for one in view if one.role == "assistant")
    told = raw["user_scenario"]["instructions"]
    pieces = [first_person(str(told[key])) for key in ("known_info", "unknown_info", "task_instructions") if told[key]]
    left = [piece for piece in pieces if piece not in said]
    if "?" in text and re.search(r"\b(yes|no|confirm|proceed|agree|correct)\b", text.lower()):
        return ParsedTurn("Yes.")
    if left:
        return ParsedTurn(left[0])
    return ParsedTurn(f"I have told you all I know. {OUT_OF_SCOPE}" if "?" in text else STOP)


def _replies(view: Sequence[Message]) -> list[Message]:
    """The phone's replies since the last text."""
    found: list[Message] = []
    for one in reversed(view):
        if one.role == "tool":
            found.append(one)
        elif not one.calls:
            break
    return found[::-1]


def _opening(manner: Manner, rng: random.Random) -> str:
    return rng.choice(OPENINGS) if rng.random() < manner.chats else ""


def _call(name: str, arguments: Mapping[str, Any], number: int) -> ParsedTurn:
    return ParsedTurn("", (ToolCall(name, dict(arguments), f"u{number}"),), raw=json.dumps(dict(arguments)))


def first_person(text: str) -> str:
    """Convert a scenario in the second person to the first person.

    Example:
        first_person("You are Ann, and your zip is 1.") is "I am Ann, and my zip is 1."
    """
    for pattern, other in SWAPS:
        text = re.sub(pattern, other, text)
    return text.strip()


SWAPS = (
    (r"\b[Yy]ou are\b", "I am"),
    (r"\b[Yy]ou're\b", "I am"),
    (r"\b[Yy]ou were\b", "I was"),
    (r"\b[Yy]ourself\b", "myself"),
    (r"\b[Yy]ours\b", "mine"),
    (r"\bYour\b", "My"),
    (r"\byour\b", "my"),
    (r"\b[Yy]ou\b", "I"),
)
