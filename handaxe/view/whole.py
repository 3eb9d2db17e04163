"""One attempt as JSON: its turns, its tokens with all that is known of each, its forks and foldings, its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from handaxe.core.records import Author, TokenSequence, Trajectory, Turn
from handaxe.ops.going_back import ANEW
from handaxe.training.record.groups import GroupRecord
from handaxe.view.trajectory import Decode, pieces

__all__ = ["attempt_as_json", "place_among_scored", "told_channels"]


def attempt_as_json(record: GroupRecord, index: int, decode: Decode) -> dict[str, Any]:
    """Everything that the record holds of one attempt.

    Args:
        record: its group.
        index: which of the siblings.
        decode: ids -> text.

    Returns:
        JSON but for NaN. Numbers of tokens are exact; those that do not apply (the log-prob of a token that no policy
        was asked about) are None.
    """
    one = record.group[index]
    place = place_among_scored(record, index)
    return {
        "name": one.id,
        "sample": one.sample,
        "step": record.group.step,
        "task": asdict(one.task),
        "ending": asdict(one.ending),
        "seed": str(one.seed),  # 64 bits, which a number of JavaScript does not hold
        "seconds": one.seconds,
        "cost": one.cost,
        "used": one.used._asdict(),
        "env": one.env,
        "notes": one.notes,
        "fate": record.fate,
        "scored": bool(record.scored[index]),
        "trained": bool(record.trained[index]),
        "channels": told_channels(record, index),
        "tools": [asdict(tool) for tool in one.tools],
        "messages": [asdict(message) for message in one.messages],
        "turns": [_turn(turn) for turn in one.turns],
        "sequences": [_sequence(record, index, place, s, decode) for s in range(len(one.sequences))],
        "folds": _folds(one),
        "branch": None if one.branch_of is None else _branch(one),
        "asked": [_asked(other) for other in one.asked],
    }


def place_among_scored(record: GroupRecord, index: int) -> int | None:
    """Where scores and advantages of a sibling stand; None when it has none."""
    if record.scores is None or not record.scored[index]:
        return None
    return int(np.count_nonzero(record.scored[:index]))


def told_channels(record: GroupRecord, index: int) -> list[dict[str, Any]]:
    """What each channel of the reward says of a sibling.

    Returns:
        One of these a channel: its name; the value; mean, low and high among the scored siblings, equal ends of which
        say that it told none of them apart; and the values of the turns, where it has any. The name "" is the reward of
        turns that belongs to no channel.
    """
    place, scores = place_among_scored(record, index), record.scores
    if place is None or scores is None:
        return []
    turns = dict(scores.turn_channels) | ({} if scores.turns is None else {"": scores.turns})
    found = []
    for name in [*scores.channels, *(name for name in turns if name not in scores.channels)]:
        values = scores.channels.get(name)
        entry: dict[str, Any] = {"name": name, "turns": None if name not in turns else turns[name][place].tolist()}
        if values is not None:
            entry |= {"value": float(values[place]), "mean": float(np.mean(values))}
            entry |= {"low": float(np.min(values)), "high": float(np.max(values))}
        found.append(entry)
    return found


def _turn(turn: Turn) -> dict[str, Any]:
    parsed = turn.parsed
    spans: Sequence[Any] = parsed.spans if len(parsed.spans) == len(parsed.calls) else [None] * len(parsed.calls)
    return {
        "sequence": turn.sequence,
        "start": turn.start,
        "stop": turn.stop,
        "finish": turn.finish,
        "text": parsed.text,
        "raw": parsed.raw,
        "errors": list(parsed.errors),
        "calls": [asdict(call) | {"span": span} for call, span in zip(parsed.calls, spans)],
        "replies": [asdict(reply) for reply in turn.replies],
        "seconds": turn.seconds,
        "cost": turn.cost,
        "facts": turn.facts,
        "sampling": asdict(turn.sampling),
    }


def _sequence(record: GroupRecord, index: int, place: int | None, s: int, decode: Decode) -> dict[str, Any]:
    """One row of tokens: `text` holds [text, how many tokens], every other list one value a token."""
    one = record.group[index].sequences[s]
    mask, drawn = one.mask, one.author == Author.POLICY
    out: dict[str, Any] = {
        "text": [[piece.text, piece.stop - piece.start] for piece in pieces(one.ids.tolist(), decode)],
        "id": one.ids.tolist(),
        "author": [Author(int(number)).name.lower() for number in one.author],
        "turn": one.turn.tolist(),
        "version": [int(number) if there else None for number, there in zip(one.version, drawn)],
        "logp": _numbers(one.logp, drawn),
        "behaviour_logp": _numbers(one.behaviour_logp, mask),
        "trains": (mask & bool(record.trained[index])).tolist(),
    }
    if record.advantages is not None and place is not None:
        out["advantage"] = _numbers(record.advantages.tokens[place][s], mask)
        if record.advantages.returns is not None:
            out["return"] = _numbers(record.advantages.returns[place][s], mask)
        if record.advantages.trains is not None:
            out["trains"] = [a and bool(b) for a, b in zip(out["trains"], record.advantages.trains[place][s])]
    out |= {name: _numbers(values, mask) for name, values in one.features.items() if name not in out}
    return out | {"ratio": _numbers(_ratio(one), drawn)}


def _ratio(one: TokenSequence) -> np.ndarray:
    """How much likelier a token was under the weights that were trained from than under those that drew it."""
    old = one.features.get("old_logp", one.logp)
    return np.exp(old.astype(np.float64) - one.behaviour_logp.astype(np.float64))


def _numbers(values: np.ndarray, where: np.ndarray) -> list[float | None]:
    """The values, each in the fewest digits that are its own; None where they do not apply."""
    found = values.astype(str).astype(np.float64) if values.dtype == np.float32 else values
    return [float(value) if there else None for value, there in zip(found, where)]


def _folds(one: Trajectory) -> list[dict[str, Any]]:
    """Where a new sequence began in the middle of the attempt, and how many messages it began with."""
    told = one.notes.get(ANEW, [])
    found = []
    for s in range(1, len(one.sequences)):
        first = next((k for k, turn in enumerate(one.turns) if turn.sequence == s), None)
        said = told[s - 1] if isinstance(told, list) and s - 1 < len(told) else None
        read = said.get("read") if isinstance(said, Mapping) else None
        found.append({"sequence": s, "turn": first, "read": read})
    return found


def _branch(one: Trajectory) -> dict[str, Any]:
    assert one.branch_of is not None
    found = one.branch_of._asdict()
    turns = [k for k, turn in enumerate(one.turns) if turn.sequence == one.branch_of.sequence]
    shared = [k for k in turns if one.turns[k].stop <= one.branch_of.token]
    return found | {"turn": len(shared) + sum(turn.sequence < one.branch_of.sequence for turn in one.turns)}


def _asked(other: Trajectory) -> dict[str, Any]:
    """What another engine said, such as a simulated user."""
    return {
        "by": other.by,
        "ending": asdict(other.ending),
        "messages": [asdict(message) for message in other.messages],
        "turns": [{"raw": turn.parsed.raw, "seconds": turn.seconds, "cost": turn.cost} for turn in other.turns],
    }
