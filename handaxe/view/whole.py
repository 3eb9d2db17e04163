"""A rollout as JSON: turns, tokens with all recorded values, forks, context folding, score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from handaxe.core.errors import HandaxeError
from handaxe.core.images import Image, is_image_id, name_images, unique_images
from handaxe.core.records import Author, Message, RatedGroup, TokenSequence, ToolReply, Trajectory, Turn
from handaxe.ops.rewindable import NEW_SEQUENCE_NOTE
from handaxe.rollouts.in_roles import role_turns
from handaxe.training.record.groups import RecordedGroup, group_fate, is_trained
from handaxe.view.call_box import cut_box
from handaxe.view.trajectory import Decode, pieces

__all__ = ["attempt_as_json", "channel_rows"]


def attempt_as_json(record: RecordedGroup, index: int, decode: Decode) -> dict[str, Any]:
    """Convert a recorded rollout to JSON.

    Args:
        record: of the group.
        index: of the sibling.
        decode: ids -> text.

    Returns:
        JSON with NaN. Values of tokens are exact; undefined values (the log-prob of a token not sampled by a policy)
        are None.
    """
    one, place = record.played.group[index], record.place(index)
    return {
        "name": one.id,
        "sample": one.sample,
        "step": record.played.group.step,
        "task": asdict(one.task) | {"messages": [_worded(message) for message in one.task.messages]},
        "ending": asdict(one.ending),
        "seed": str(one.seed),  # 64 bits, which a number of JavaScript does not hold
        "seconds": one.seconds,
        "cost": one.cost,
        "used": one.usage._asdict(),
        "env": one.env,
        "notes": one.notes,
        "fate": group_fate(record),
        "scored": place is not None,
        "trained": is_trained(record, index),
        "dispositions": [one._asdict() for one in record.played.dispositions[index]],
        "channels": channel_rows(record, index),
        "tools": [asdict(tool) for tool in one.tools],
        "messages": [_worded(message) for message in one.messages],
        "turns": _turns(one),
        "sequences": [_sequence(record, index, place, s, decode) for s in range(len(one.sequences))],
        "folds": _folds(one),
        "branch": None if one.branch_of is None else _branch(one),
        "asked": [_asked(other) for other in one.aux_turns],
        "images": {image.digest: _image(image, decode) for image in unique_images(_images(one))},
    }


def channel_rows(record: RecordedGroup, index: int) -> list[dict[str, Any]]:
    """Reward channels of a sibling.

    Returns:
        Per channel: name; value; mean, low and high over the scored siblings (low equals high for a channel without
        spread); values by turn, if any. The name "" is the turn reward without a channel.
    """
    place, scores = record.place(index), record.scores
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


def _images(one: Trajectory) -> list[Image]:
    own = [*one.images, *(image for reply in one.replies for image in reply.images)]
    return own + [image for other in one.aux_turns for image in _images(other)]


def _image(image: Image, decode: Decode) -> dict[str, Any]:
    """Sizes of an image, and the grid of its tokens if the chat format of the decoder knows one."""
    found: dict[str, Any] = {"width": image.width, "height": image.height}
    processor = getattr(getattr(decode, "__self__", None), "image_processor", None)
    if (grid := getattr(processor, "patch_grid", None)) is not None:
        with suppress(HandaxeError):  # an image that only a tool kept, too large for the policy
            place = grid(image)
            found |= {} if place is None else {"grid": place._asdict()}
    return found


def _worded(one: Message | ToolReply) -> dict[str, Any]:
    """A message or a reply, with its images by digest and in words in the content."""
    content = name_images(one.content, one.images)
    return asdict(one) | {"content": content, "images": [image.digest for image in one.images]}


def _turns(one: Trajectory) -> list[dict[str, Any]]:
    """Turns with the role of a rollout in several roles; a call whose reply is a part of a shown image has its digest
    and the part's box."""
    roles = dict(enumerate(turn.role for turn in role_turns(one)))
    shown = [image for message in one.task.messages for image in message.images]
    found = []
    for k, turn in enumerate(one.turns):
        entry = _turn(turn) | {"role": roles.get(k, "")}
        replies = {reply.call_id: reply for reply in turn.replies}
        for call, made in zip(turn.parsed.calls, entry["calls"]):
            reply = replies.get(call.id)
            cut = cut_box(call.arguments, shown, reply.images[0]) if reply is not None and reply.images else None
            made["cut"] = None if cut is None else {"image": cut.image.digest, "box": cut.box}
        shown += [image for reply in turn.replies for image in reply.images]
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
        "replies": [_worded(reply) for reply in turn.replies],
        "seconds": turn.seconds,
        "cost": turn.cost,
        "facts": turn.facts,
        "sampling": asdict(turn.sampling),
    }


def _sequence(record: RecordedGroup, index: int, place: int | None, s: int, decode: Decode) -> dict[str, Any]:
    """A row of tokens: `text` has [text, number of tokens], or ["", number of tokens, digest] for an image; all other
    lists have a value per token, ids of image tokens are None.
    """
    trajectory = record.played.group[index]
    one, images = trajectory.sequences[s], {image.key: image.digest for image in trajectory.images}
    mask, drawn = one.mask, one.author == Author.POLICY
    out: dict[str, Any] = {
        "text": [
            [piece.text, piece.stop - piece.start]
            + ([] if piece.image is None else [images.get(piece.image, str(piece.image))])
            for piece in pieces(one.ids.tolist(), decode)
        ],
        "id": [None if is_image_id(token) else token for token in one.ids.tolist()],
        "author": [Author(int(number)).name.lower() for number in one.author],
        "turn": one.turn.tolist(),
        "version": [int(number) if there else None for number, there in zip(one.version, drawn)],
        "logp": _numbers(one.logp, drawn),
        "behaviour_logp": _numbers(one.behaviour_logp, mask),
        "trains": (mask & is_trained(record, index)).tolist(),
    }
    if isinstance(record, RatedGroup) and place is not None:
        out["advantage"] = _numbers(record.advantages.tokens[place][s], mask)
        if record.advantages.returns is not None:
            out["return"] = _numbers(record.advantages.returns[place][s], mask)
        if record.advantages.trains is not None:
            out["trains"] = [a and bool(b) for a, b in zip(out["trains"], record.advantages.trains[place][s])]
    out |= {name: _numbers(values, mask) for name, values in one.features.items() if name not in out}
    return out | {"ratio": _numbers(_ratio(one), drawn)}


def _ratio(one: TokenSequence) -> np.ndarray:
    """[T] probability under the old policy over probability under the behaviour policy."""
    old = one.features.get("old_logp", one.logp)
    return np.exp(old.astype(np.float64) - one.behaviour_logp.astype(np.float64))


def _numbers(values: np.ndarray, where: np.ndarray) -> list[float | None]:
    """Values with the fewest digits that round-trip; None for undefined values."""
    found = values.astype(str).astype(np.float64) if values.dtype == np.float32 else values
    return [float(value) if there else None for value, there in zip(found, where)]


def _folds(one: Trajectory) -> list[dict[str, Any]]:
    """Sequences started by context folding: first turn, and number of messages at the start."""
    told = one.notes.get(NEW_SEQUENCE_NOTE, [])
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
    """Rollout of an auxiliary policy, such as a simulated user."""
    return {
        "by": other.by,
        "ending": asdict(other.ending),
        "messages": [_worded(message) for message in other.messages],
        "turns": [{"raw": turn.parsed.raw, "seconds": turn.seconds, "cost": turn.cost} for turn in other.turns],
    }
