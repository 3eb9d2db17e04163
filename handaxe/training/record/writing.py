"""Writing of groups to a record's tables."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np

from handaxe.core.images import Image
from handaxe.core.records import RatedGroup, Scores, TokenSequence, Trajectory
from handaxe.ops import codec
from handaxe.training.record.groups import RecordedGroup, dump_dispositions, first_selector, group_fate, is_trained
from handaxe.training.record.stored_images import write_images

__all__ = ["TURN_REWARD", "write_group"]

TURN_REWARD = ""
"""Name of Scores.turns among the turn_scores; channels of turns have other names."""


def write_group(db: sqlite3.Connection, one: RecordedGroup) -> None:
    """Insert a group with all its rollouts."""
    group = one.played.group
    part = one.part if isinstance(one, RatedGroup) else 0
    asked: dict[str, Image] = {}
    task = codec.dump_record(group.task, asked)
    row = (group.step, codec.dump_text(group.task.id), task, group_fate(one), part)
    group_id = _insert(db, "groups (step, task_id, task, fate, part)", row)
    for i, trajectory in enumerate(group):
        place, images = one.place(i), dict(asked)
        row_id = _write_trajectory(db, group_id, trajectory, one, i, place, images)
        _write_turns(db, row_id, trajectory, images)
        if images:
            write_images(db, images.values(), [row_id])
        for s, sequence in enumerate(trajectory.sequences):
            _write_sequence(db, row_id, s, sequence, _ratings(one, place, s))
        if one.scores is not None and place is not None:
            _write_scores(db, row_id, one.scores, place)


def _ratings(one: RecordedGroup, place: int | None, s: int) -> list[np.ndarray | None]:
    """Arrays of sequence s of a sibling: advantages, returns, trains, moved."""
    if not isinstance(one, RatedGroup) or place is None:
        return [None] * 4
    parts = (one.advantages.tokens, one.advantages.returns, one.advantages.trains, one.moved)
    found = [None if part is None else part[place] for part in parts]
    return [None if own is None else own[s] for own in found]


def _total(scores: Scores | None, place: int | None) -> float | None:
    """Sum of outcome and turn rewards of a sibling."""
    if scores is None or place is None:
        return None
    return float(scores.outcome[place]) + (0.0 if scores.turns is None else float(np.sum(scores.turns[place])))


def _write_trajectory(
    db: sqlite3.Connection,
    group_id: int,
    one: Trajectory,
    record: RecordedGroup,
    i: int,
    place: int | None,
    images: dict[str, Image],
) -> int:
    tools = codec.dump_record(one.tools)
    db.execute("INSERT OR IGNORE INTO toolsets (schemas) VALUES (?)", (tools,))
    (toolset,) = db.execute("SELECT id FROM toolsets WHERE schemas = ?", (tools,)).fetchone()
    scores, played = record.scores, record.played
    eligible = None if scores is None or place is None or scores.eligible is None else int(scores.eligible[place])
    row = {
        "group_id": group_id,
        "name": codec.dump_text(one.id),
        "sample": one.sample,
        "ending": one.ending.kind,
        "reason": codec.dump_text(one.ending.reason),
        "scored": int(place is not None),
        "trained": int(is_trained(record, i)),
        "outcome": None if scores is None or place is None else float(scores.outcome[place]),
        "eligible": eligible,
        "num_turns": len(one.turns),
        "num_calls": len(one.calls),
        "num_tokens": one.num_tokens,
        "final_text": codec.dump_text(one.final_text),
        "cost": one.cost,
        "seconds": one.seconds,
        "seed": one.seed,
        "branch": None if one.branch_of is None else codec.dump_record(one.branch_of),
        "env": codec.dump_json(dict(one.env), images),
        "messages": codec.dump_record(one.messages, images),
        "toolset": toolset,
        "notes": _free(one.notes, images),
        "asked": codec.dump_record(one.aux_turns, images) if one.aux_turns else None,
        "spent": None if one.total_usage is None else json.dumps(one.total_usage.numbers()),
        "total": _total(scores, place),
        "called": json.dumps(sorted({call.name for call in one.calls})),
        "left_out_by": first_selector(played.dispositions[i]),
        "age": None if played.ages is None else float(played.ages[i]),
        "dispositions": dump_dispositions(played.dispositions[i]),
    }
    return _insert(db, f"trajectories ({', '.join(row)})", tuple(row.values()))


def _write_turns(db: sqlite3.Connection, row_id: int, trajectory: Trajectory, images: dict[str, Image]) -> None:
    for place, turn in enumerate(trajectory.turns):
        parsed, sampling = codec.dump_record(turn.parsed, images), codec.dump_record(turn.sampling)
        replies, facts = codec.dump_record(turn.replies, images), _free(turn.facts, images)
        row = (row_id, place, turn.sequence, turn.start, turn.stop, turn.finish, parsed, sampling)
        _insert(db, "turns", (*row, turn.seed, replies, turn.seconds, turn.cost, facts))


def _write_sequence(
    db: sqlite3.Connection,
    row_id: int,
    place: int,
    one: TokenSequence,
    ratings: list[np.ndarray | None],
) -> None:
    arrays = [one.ids, one.author, one.turn, one.logp, one.behaviour_logp, one.version, *ratings]
    blobs = [None if array is None else codec.pack(array) for array in arrays]
    _insert(db, "sequences", (row_id, place, *blobs))
    for name, array in one.features.items():
        _insert(db, "features", (row_id, place, name, codec.pack(array)))


def _write_scores(db: sqlite3.Connection, row_id: int, scores: Scores, place: int) -> None:
    for name, values in scores.channels.items():
        _insert(db, "channels", (row_id, name, float(values[place])))
    per_turn = dict(scores.turn_channels)
    if scores.turns is not None:
        per_turn[TURN_REWARD] = scores.turns
    for name, ragged in per_turn.items():
        _insert(db, "turn_scores", (row_id, name, codec.pack(ragged[place])))


def _free(facts: Mapping[str, Any], images: dict[str, Image]) -> str | None:
    """JSON; NULL for an empty mapping, as in records from before the column existed."""
    return codec.dump_json(dict(facts), images) if facts else None


def _insert(db: sqlite3.Connection, table: str, row: tuple[Any, ...]) -> int:
    """Insert a row and return its id; `table` is a literal of this file."""
    return db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row).lastrowid or 0
