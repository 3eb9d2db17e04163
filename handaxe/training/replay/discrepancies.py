"""Comparison of a recorded and a replayed trajectory: the first difference of each kind."""

from itertools import zip_longest
from typing import Literal, NamedTuple

import numpy as np

from handaxe.core.records import Ending, Message, ToolReply, Trajectory, Turn

__all__ = ["Discrepancy", "KINDS", "What", "differing", "discrepancies", "reply_difference"]

What = Literal["record", "requests", "ids", "messages", "replies", "ending", "state"]
KINDS: tuple[What, ...] = ("record", "requests", "ids", "messages", "replies", "ending", "state")
"""record: the recorded value breaks an invariant; requests: the policy would have sampled from other ids."""


class Discrepancy(NamedTuple):
    """One difference: trajectory, kind, place (None: nowhere in particular), and both values."""

    trajectory: str
    what: What
    recorded: str
    replayed: str
    turn: int | None = None
    sequence: int | None = None
    token: int | None = None

    @property
    def place(self) -> str:
        """Place of the difference, in words."""
        named = (("turn", self.turn), ("sequence", self.sequence), ("token", self.token))
        return ", ".join(f"{name} {number}" for name, number in named if number is not None)


def discrepancies(
    recorded: Trajectory, replayed: Trajectory, *, ending: bool = True, state: bool = False
) -> list[Discrepancy]:
    """Return the first difference of each kind.

    Args:
        recorded, replayed: two trajectories with the same id.
        ending: compare endings. Of an infra_error or a verifier_error at most the kind is compared, since failures are
            not replayed and the reward runs after the rollout.
        state: compare the environments' reports.
    """
    found = [_ids(recorded, replayed), _messages(recorded, replayed), _replies(recorded, replayed)]
    if ending and not _alike(recorded.ending, replayed.ending):
        mine, theirs = (f"{e.kind} {e.reason}".strip() for e in (recorded.ending, replayed.ending))
        found.append(Discrepancy(recorded.id, "ending", mine, theirs))
    if state and dict(recorded.env) != dict(replayed.env):
        found.append(Discrepancy(recorded.id, "state", repr(dict(recorded.env)), repr(dict(replayed.env))))
    return [one for one in found if one is not None]


def differing(recorded: np.ndarray, replayed: np.ndarray) -> int | None:
    """First index at which two arrays differ, in value or length; None if equal."""
    common = min(len(recorded), len(replayed))
    places = np.flatnonzero(recorded[:common] != replayed[:common])
    if len(places):
        return int(places[0])
    return None if len(recorded) == len(replayed) else common


def reply_difference(
    trajectory: str, k: int, recorded: ToolReply | None, replayed: ToolReply | None
) -> Discrepancy | None:
    """Difference of two replies, without times; None is a missing reply."""
    if recorded is not None and replayed is not None:
        for name in ("call_id", "name", "status", "content", "images", "cost"):
            mine, theirs = getattr(recorded, name), getattr(replayed, name)
            if mine != theirs:
                return Discrepancy(trajectory, "replies", f"{name} {mine!r}", f"{name} {theirs!r}", turn=k)
    elif recorded is not replayed:
        return Discrepancy(trajectory, "replies", _said(recorded), _said(replayed), turn=k)
    return None


def _said(reply: ToolReply | None) -> str:
    return "no reply" if reply is None else repr(reply.content)


def _alike(recorded: Ending, replayed: Ending) -> bool:
    if recorded.kind == "verifier_error":
        return True
    return recorded == replayed or recorded.kind == replayed.kind == "infra_error"


def _ids(recorded: Trajectory, replayed: Trajectory) -> Discrepancy | None:
    for s, (one, other) in enumerate(zip(recorded.sequences, replayed.sequences)):
        for key in ("ids", "author", "turn"):
            mine, theirs = getattr(one, key), getattr(other, key)
            t = differing(mine, theirs)
            if t is not None:
                turn = _turn_at(recorded, s, t)
                return Discrepancy(recorded.id, "ids", _entry(key, mine, t), _entry(key, theirs, t), turn, s, t)
    before, now = len(recorded.sequences), len(replayed.sequences)
    if before != now:
        return Discrepancy(recorded.id, "ids", f"{before} sequences", f"{now} sequences")
    return None


def _entry(key: str, array: np.ndarray, t: int) -> str:
    return f"{key} {array[t]}" if t < len(array) else "the end"


def _turn_at(trajectory: Trajectory, s: int, t: int) -> int | None:
    """Turn of a token, or of the reply that contains it; None in the opening."""
    before = [k for k, turn in enumerate(trajectory.turns) if turn.sequence == s and turn.start <= t]
    return before[-1] if before else None


def _messages(recorded: Trajectory, replayed: Trajectory) -> Discrepancy | None:
    if recorded.tools != replayed.tools:
        return Discrepancy(recorded.id, "messages", _offered(recorded), _offered(replayed))
    for i, (mine, theirs) in enumerate(zip_longest(recorded.messages, replayed.messages)):
        if mine != theirs:
            return Discrepancy(
                recorded.id, "messages", f"message {i}: {_spoken(mine)}", f"message {i}: {_spoken(theirs)}"
            )
    for k, (one, other) in enumerate(zip_longest(recorded.turns, replayed.turns)):
        if _meaning(one) != _meaning(other):
            return Discrepancy(recorded.id, "messages", _meaning(one), _meaning(other), k)
    return None


def _offered(trajectory: Trajectory) -> str:
    """Offered tools, with descriptions."""
    return "tools " + (", ".join(repr(tool) for tool in trajectory.tools) or "none")


def _spoken(message: Message | None) -> str:
    if message is None:
        return "none"
    made = "".join(f" {call.name}({dict(call.arguments)}) {call.id}" for call in message.calls)
    shown = "".join(f" {image!r}" for image in message.images)
    return f"{message.role} {message.name} {message.content!r}{shown}{made}"


def _meaning(turn: Turn | None) -> str:
    """Parse result and finish of a turn."""
    return "no turn" if turn is None else f"{turn.finish} {turn.parsed!r}"


def _replies(recorded: Trajectory, replayed: Trajectory) -> Discrepancy | None:
    for k, (one, other) in enumerate(zip_longest(recorded.turns, replayed.turns)):
        for mine, theirs in zip_longest(one.replies if one else (), other.replies if other else ()):
            difference = reply_difference(recorded.id, k, mine, theirs)
            if difference:
                return difference
    return None
