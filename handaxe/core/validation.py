"""Invariants of trajectories and groups, the implementation of `handaxe.core.records.check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.errors import RecordError
from handaxe.core.images import PLACEHOLDER, image_key, image_spans, is_image_id, token_number

if TYPE_CHECKING:
    from handaxe.core.records import Group, Message, TokenSequence, ToolReply, Trajectory, Turn

__all__ = ["check", "check_group"]

REASONS = ("length", "turns", "budget", "stopped")
SHOWING = (0, 1, 2)
"""Authors of image tokens: TEMPLATE, USER and TOOL of `records.Author`. Policies draw no images."""


def check(trajectory: Trajectory) -> None:
    """Check every invariant of the drawing in `handaxe.core.records`.

    Args:
        trajectory: from a rollout or built by hand.

    Raises:
        RecordError: names the trajectory and every broken invariant, one a line.
    """
    problems = [p for i, s in enumerate(trajectory.sequences) for p in _sequence_problems(i, s)]
    if not trajectory.sequences:
        problems.append("it has no sequence")
    if not problems:
        problems = _turn_problems(trajectory) + _image_problems(trajectory)
    if problems:
        raise RecordError(f"trajectory {trajectory.id!r} breaks the record:\n  " + "\n  ".join(problems))


def check_group(group: Group) -> None:
    """Check every trajectory of a group, unique ids, and the shared prefix of each fork with its origin in the group.

    Raises:
        RecordError: names a trajectory and every broken invariant, one a line.
    """
    siblings = {trajectory.id: trajectory for trajectory in group}
    if len(siblings) != len(group):
        raise RecordError(f"two trajectories of the group of task {group.task.id!r} have the same id")
    for trajectory in group:
        check(trajectory)
        left = trajectory.branch_of and siblings.get(trajectory.branch_of.trajectory)
        problems = _branch_problems(trajectory, left) if left else []
        if problems:
            raise RecordError(f"trajectory {trajectory.id!r} breaks the record:\n  " + "\n  ".join(problems))


def _branch_problems(branch: Trajectory, left: Trajectory) -> list[str]:
    assert branch.branch_of is not None
    _, last, token = branch.branch_of
    if any(last >= len(one.sequences) or token > len(one.sequences[last]) for one in (branch, left)):
        return [f"{branch.branch_of}: there is no such place in both"]
    problems = []
    for s in range(last + 1):
        stop = token if s == last else None
        for key in ("ids", "author", "turn", "logp", "behaviour_logp", "version"):
            mine, theirs = (getattr(one.sequences[s], key)[:stop] for one in (branch, left))
            if not np.array_equal(mine, theirs):
                problems.append(f"sequence {s}: {key} of what it shares with {left.id!r} is another there")
    return problems


def _sequence_problems(index: int, sequence: TokenSequence) -> list[str]:
    name = f"sequence {index}"
    mask = sequence.mask
    length = len(sequence.ids)
    arrays = {k: getattr(sequence, k) for k in ("author", "turn", "logp", "behaviour_logp", "version")}
    arrays |= sequence.features
    problems = [f"{name}: {k} has {len(a)} entries for {length} ids" for k, a in arrays.items() if len(a) != length]
    if problems:
        return problems
    if not length:
        return [f"{name} is empty"]
    sampled = mask & ~sequence.forced
    for key, drawn in (("logp", sampled), ("behaviour_logp", mask)):
        values = arrays[key]
        if not np.all(np.isfinite(values[drawn])) or np.any(values[drawn] > 1e-5):
            problems.append(f"{name}: {key} of a sampled token is not a log-probability")
        if np.any(values[~drawn] != 0):
            problems.append(f"{name}: {key} is not 0 where the policy did not write")
    if np.any(sequence.behaviour_logp[sampled] < sequence.logp[sampled] - 1e-4):
        problems.append(f"{name}: behaviour_logp is below logp, but cutting a distribution only raises what is left")
    if np.any(sequence.version[sampled] < 0) or np.any(sequence.version[~sampled] != -1):
        problems.append(f"{name}: version must be >= 0 on sampled tokens and -1 elsewhere")
    if mask[0]:
        problems.append(f"{name}: its first token is sampled, but a policy needs at least one token to see")
    return problems


def _turn_problems(trajectory: Trajectory) -> list[str]:
    problems, seen = [], [np.zeros(len(s), bool) for s in trajectory.sequences]
    for k, turn in enumerate(trajectory.turns):
        if not 0 <= turn.sequence < len(seen) or not 0 < turn.start < turn.stop <= len(seen[turn.sequence]):
            problems.append(f"turn {k}: span [{turn.start}, {turn.stop}) is not inside sequence {turn.sequence}")
            continue
        span, sequence = slice(turn.start, turn.stop), trajectory.sequences[turn.sequence]
        if not np.all(sequence.mask[span]) or np.any(sequence.turn[span] != k):
            problems.append(f"turn {k}: its span holds tokens of another author or turn")
        seen[turn.sequence][span] = True
        made = {call.id for call in turn.parsed.calls}
        if len(made) != len(turn.parsed.calls):
            problems.append(f"turn {k}: two calls share an id")
        if turn.parsed.spans and not _spans_fit(turn):
            problems.append(f"turn {k}: the spans of its calls are not one a call, in order, within its ids")
        if turn.finish == "length" and turn.replies:
            problems.append(f"turn {k}: it was cut by the length limit, yet a tool replied")
        if any(reply.call_id and reply.call_id not in made for reply in turn.replies):
            problems.append(f"turn {k}: a reply answers a call that was not made in it")
    for i, sequence in enumerate(trajectory.sequences):
        if np.any(sequence.mask & ~seen[i]):
            problems.append(f"sequence {i}: sampled tokens that belong to no turn")
    if trajectory.ending.kind == "truncated" and trajectory.ending.reason not in REASONS:
        problems.append(f"truncated for {trajectory.ending.reason!r}; give {', '.join(REASONS)}")
    return problems


def _image_problems(trajectory: Trajectory) -> list[str]:
    problems = []
    named: list[tuple[str, Message | ToolReply]]
    named = [(f"message {k}", message) for k, message in enumerate(trajectory.messages)]
    named += [(f"turn {k}: a reply", reply) for k, turn in enumerate(trajectory.turns) for reply in turn.replies]
    for name, shown in named:
        if shown.images and shown.content.count(PLACEHOLDER) != len(shown.images):
            count = shown.content.count(PLACEHOLDER)
            problems.append(f"{name}: {count} placeholders in the text for {len(shown.images)} images beside it")
    known: set[int] | None = None
    lengths: dict[int, set[int]] = {}
    for i, sequence in enumerate(trajectory.sequences):
        at = is_image_id(sequence.ids)
        if not np.any(at):
            continue
        known = {image.key for image in trajectory.images} if known is None else known
        if not known.issuperset(image_key(sequence.ids[at]).tolist()):
            problems.append(f"sequence {i}: ids of an image that no message shows")
        if not np.all(np.isin(sequence.author[at], SHOWING)):
            problems.append(f"sequence {i}: image tokens written by the policy, another process or an expert")
        for start, stop, key in image_spans(sequence.ids):
            lengths.setdefault(key, set()).add(stop - start)
            if token_number(sequence.ids[start]) != 0:
                problems.append(f"sequence {i}: the image tokens at {start} do not begin with token 0")
    if any(len(counts) > 1 for counts in lengths.values()):
        problems.append("one image has runs of different lengths, so that one of them was cut")
    return problems


def _spans_fit(turn: Turn) -> bool:
    places = [place for span in turn.parsed.spans for place in span]
    filled = all(start < stop for start, stop in turn.parsed.spans) and places[0] >= 0
    return filled and places[-1] <= turn.stop - turn.start and len(places) == 2 * len(turn.parsed.calls)
