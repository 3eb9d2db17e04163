"""A group as rows of the record's tables."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np

from handaxe.core.records import Advantages, Scores, TokenSequence, Trajectory
from handaxe.ops import codec
from handaxe.training.record.groups import GroupRecord

__all__ = ["TURN_REWARD", "write_group"]

TURN_REWARD = ""
"""The name under which Scores.turns stands among the turn_scores; channels of turns have names of their own."""


def write_group(db: sqlite3.Connection, record: GroupRecord) -> None:
    """Insert a group and all it holds."""
    group = record.group
    scores = record.scores
    advantages = record.advantages
    row = (group.step, codec.dump_text(group.task.id), codec.dump_record(group.task), record.fate, record.part)
    group_id = _insert(db, "groups (step, task_id, task, fate, part)", row)
    place = np.cumsum(record.scored) - 1
    for i, trajectory in enumerate(group):
        k = int(place[i]) if record.scored[i] else None
        row_id = _write_trajectory(db, group_id, trajectory, record, i, k)
        _write_turns(db, row_id, trajectory)
        for s, sequence in enumerate(trajectory.sequences):
            _write_sequence(db, row_id, s, sequence, [*_advantages(advantages, k, s), _pushed(record, i, s)])
        if scores is not None and k is not None:
            _write_scores(db, row_id, scores, k)


def _advantages(advantages: Advantages | None, k: int | None, s: int) -> list[np.ndarray | None]:
    """What is said of sequence s of the k-th scored sibling: advantages, returns, trains."""
    if advantages is None or k is None:
        return [None, None, None]
    parts = (advantages.tokens, advantages.returns, advantages.trains)
    return [None if part is None else part[k][s] for part in parts]


def _pushed(record: GroupRecord, i: int, s: int) -> np.ndarray | None:
    own = None if record.pushed is None else record.pushed[i]
    return None if own is None else own[s]


def _total(scores: Scores | None, k: int | None) -> float | None:
    """What a sibling earned in all, its turns included."""
    if scores is None or k is None:
        return None
    return float(scores.outcome[k]) + (0.0 if scores.turns is None else float(np.sum(scores.turns[k])))


def _write_trajectory(
    db: sqlite3.Connection, group_id: int, one: Trajectory, record: GroupRecord, i: int, k: int | None
) -> int:
    tools = codec.dump_record(one.tools)
    db.execute("INSERT OR IGNORE INTO toolsets (schemas) VALUES (?)", (tools,))
    (toolset,) = db.execute("SELECT id FROM toolsets WHERE schemas = ?", (tools,)).fetchone()
    scores = record.scores
    eligible = None if scores is None or k is None or scores.eligible is None else int(scores.eligible[k])
    row = {
        "group_id": group_id,
        "name": codec.dump_text(one.id),
        "sample": one.sample,
        "ending": one.ending.kind,
        "reason": codec.dump_text(one.ending.reason),
        "scored": int(record.scored[i]),
        "trained": int(record.trained[i]),
        "outcome": None if scores is None or k is None else float(scores.outcome[k]),
        "eligible": eligible,
        "num_turns": len(one.turns),
        "num_calls": len(one.calls),
        "num_tokens": one.num_tokens,
        "final_text": codec.dump_text(one.final_text),
        "cost": one.cost,
        "seconds": one.seconds,
        "seed": one.seed,
        "branch": None if one.branch_of is None else codec.dump_record(one.branch_of),
        "env": codec.dump_json(dict(one.env)),
        "messages": codec.dump_record(one.messages),
        "toolset": toolset,
        "notes": _free(one.notes),
        "asked": codec.dump_record(one.asked) if one.asked else None,
        "spent": None if one.spent is None else codec.dump_record(one.spent),
        "total": _total(scores, k),
        "called": json.dumps(sorted({call.name for call in one.calls})),
        "left_out_by": None if record.left_out_by is None else record.left_out_by[i],
        "age": None if record.ages is None else float(record.ages[i]),
    }
    return _insert(db, f"trajectories ({', '.join(row)})", tuple(row.values()))


def _write_turns(db: sqlite3.Connection, row_id: int, trajectory: Trajectory) -> None:
    for place, turn in enumerate(trajectory.turns):
        parsed, sampling = codec.dump_record(turn.parsed), codec.dump_record(turn.sampling)
        replies, facts = codec.dump_record(turn.replies), _free(turn.facts)
        row = (row_id, place, turn.sequence, turn.start, turn.stop, turn.finish, parsed, sampling)
        _insert(db, "turns", (*row, turn.seed, replies, turn.seconds, turn.cost, facts))


def _write_sequence(
    db: sqlite3.Connection,
    row_id: int,
    place: int,
    one: TokenSequence,
    rated: list[np.ndarray | None],
) -> None:
    arrays = [one.ids, one.author, one.turn, one.logp, one.behaviour_logp, one.version, *rated]
    blobs = [None if array is None else codec.pack(array) for array in arrays]
    _insert(db, "sequences", (row_id, place, *blobs))
    for name, array in one.features.items():
        _insert(db, "features", (row_id, place, name, codec.pack(array)))


def _write_scores(db: sqlite3.Connection, row_id: int, scores: Scores, k: int) -> None:
    for name, values in scores.channels.items():
        _insert(db, "channels", (row_id, name, float(values[k])))
    per_turn = dict(scores.turn_channels)
    if scores.turns is not None:
        per_turn[TURN_REWARD] = scores.turns
    for name, ragged in per_turn.items():
        _insert(db, "turn_scores", (row_id, name, codec.pack(ragged[k])))


def _free(facts: Mapping[str, Any]) -> str | None:
    """NULL for nothing, as in a record of before there was a column."""
    return codec.dump_json(dict(facts)) if facts else None


def _insert(db: sqlite3.Connection, table: str, row: tuple[Any, ...]) -> int:
    """Insert a row; `table` is one of this file's own literals. Returns its id."""
    return db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row).lastrowid or 0
