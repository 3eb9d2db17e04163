"""Reading of groups from a record's tables, of this or an earlier format."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from handaxe.core.records import (
    Advantages,
    Branch,
    Dispositions,
    Ending,
    Group,
    Message,
    ParsedTurn,
    PlayedGroup,
    RatedGroup,
    Sampling,
    ScoredGroup,
    Scores,
    Task,
    TokenSequence,
    ToolReply,
    ToolSchema,
    Trajectory,
    Turn,
)
from handaxe.core.usage import Usage
from handaxe.ops import codec
from handaxe.training.record.earlier_formats import earlier_dispositions
from handaxe.training.record.groups import RecordedGroup, load_dispositions
from handaxe.training.record.stored_images import image_source
from handaxe.training.record.writing import TURN_REWARD

__all__ = ["read_groups", "read_trajectory_group", "silent_channels"]

Row = dict[str, Any]
ARRAYS = ("ids", "author", "turn", "logp", "behaviour_logp", "version")


SILENT = """
SELECT name FROM (
    SELECT channels.name AS name, max(value) - min(value) AS spread
    FROM channels JOIN trajectories ON trajectories.id = channels.trajectory
    WHERE channels.name NOT IN (SELECT name FROM turn_scores) GROUP BY channels.name, group_id)
GROUP BY name HAVING ifnull(max(spread), 0) < 1e-12 ORDER BY name"""


def silent_channels(db: sqlite3.Connection) -> list[str]:
    """Return the reward channels that were equal among siblings in every group, without turn channels; sorted."""
    return [str(name) for (name,) in db.execute(SILENT)]


def read_groups(
    db: sqlite3.Connection, *, step: int | None = None, task: str | None = None, file: Path | None = None
) -> list[RecordedGroup]:
    """Read recorded groups in order: of one step or all, of one task id or all. `file`: see `image_source`."""
    wanted = {"step": step, "task_id": None if task is None else codec.dump_text(task)}
    given = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in given) or "1"  # one condition per column, to use its index
    rows = _rows(db, f"SELECT * FROM groups WHERE {where} ORDER BY id", *given.values())
    images = image_source(db, file)
    return [_group(db, row, images) for row in rows]


def read_trajectory_group(
    db: sqlite3.Connection, trajectory: int, *, file: Path | None = None
) -> tuple[RecordedGroup, int] | None:
    """Read the group of a trajectory row, and its index in the played group; None without such a row. `file`: see
    `image_source`.
    """
    found = db.execute("SELECT group_id FROM trajectories WHERE id = ?", (trajectory,)).fetchone()
    if found is None:
        return None
    (row,) = _rows(db, "SELECT * FROM groups WHERE id = ?", found[0])
    before = "SELECT count(*) FROM trajectories WHERE group_id = ? AND id < ?"
    return _group(db, row, image_source(db, file)), int(db.execute(before, (found[0], trajectory)).fetchone()[0])


def _group(db: sqlite3.Connection, row: Row, images: codec.ImageSource) -> RecordedGroup:
    task = codec.load_record(Task, row["task"], images)
    rows = _rows(db, "SELECT * FROM trajectories WHERE group_id = ? ORDER BY id", row["id"])
    sequences = {one["id"]: _rows(db, _of("sequences"), one["id"]) for one in rows}
    trajectories = (_trajectory(db, one, task, sequences[one["id"]], images) for one in rows)
    group = Group(task, tuple(trajectories), row["step"])
    played = PlayedGroup(group, _dispositions(db, row, rows, group), _ages(rows))
    scored = np.array([one["scored"] for one in rows], bool)
    if not scored.any():
        return played
    seen = [one for one in rows if one["scored"]]
    found = ScoredGroup(played, played.siblings(scored), _scores(db, seen))
    advantages = _advantages([sequences[one["id"]] for one in seen])
    if advantages is None:
        return found
    trained = np.array([one["trained"] for one in seen], bool)
    moved = _moved([sequences[one["id"]] for one in seen])
    return RatedGroup(found, advantages, trained, part=row.get("part") or 0, moved=moved)


def _dispositions(db: sqlite3.Connection, row: Row, rows: list[Row], group: Group) -> tuple[Dispositions, ...]:
    texts = [one.get("dispositions") for one in rows]
    if None not in texts:
        return tuple(load_dispositions(str(text)) for text in texts)
    query = "SELECT value FROM metrics WHERE step = ? AND name = 'optimiser_steps'"
    found = db.execute(query, (row["step"],)).fetchone()
    updated = found is None or found[0] != 0
    return earlier_dispositions(group.trajectories, rows, fate=row["fate"], updated=updated)


def _ages(rows: list[Row]) -> np.ndarray | None:
    """Ages of the rollouts; None in a record without ages, or for a group without a counted age."""
    ages = np.array([_number(one.get("age")) for one in rows])
    return None if np.isnan(ages).all() else ages


def _moved(found: list[list[Row]]) -> tuple[tuple[np.ndarray, ...] | None, ...] | None:
    blobs: list[list[Any]] = [[row.get("pushed") for row in rows] for rows in found]
    if all(blob is None for own in blobs for blob in own):
        return None
    return tuple(
        None if not own or None in own else tuple(codec.unpack(blob) for blob in own if blob is not None)
        for own in blobs
    )


def _trajectory(
    db: sqlite3.Connection, row: Row, task: Task, sequences: list[Row], images: codec.ImageSource
) -> Trajectory:
    (tools,) = db.execute("SELECT schemas FROM toolsets WHERE id = ?", (row["toolset"],)).fetchone()
    return Trajectory(
        id=codec.load_text(row["name"]),
        task=task,
        sample=row["sample"],
        turns=tuple(_turn(one, images) for one in _rows(db, _of("turns"), row["id"])),
        sequences=tuple(_sequence(db, one) for one in sequences),
        ending=Ending(row["ending"], codec.load_text(row["reason"])),
        messages=codec.load_record(tuple[Message, ...], row["messages"], images),
        tools=codec.load_record(tuple[ToolSchema, ...], tools),
        seed=row["seed"],
        branch_of=None if row["branch"] is None else codec.load_record(Branch, row["branch"]),
        env=codec.load_json(row["env"], images),
        seconds=row["seconds"],
        notes=codec.load_json(row.get("notes") or "{}", images),
        aux_turns=codec.load_record(tuple[Trajectory, ...], row.get("asked") or "[]", images),
        total_usage=None if row.get("spent") is None else codec.load_record(Usage, row["spent"]),
    )


def _turn(row: Row, images: codec.ImageSource) -> Turn:
    row = row | {
        "parsed": codec.load_record(ParsedTurn, row["parsed"], images),
        "sampling": codec.load_record(Sampling, row["sampling"]),
        "replies": codec.load_record(tuple[ToolReply, ...], row["replies"], images),
        "facts": codec.load_json(row.get("facts") or "{}", images),
    }
    return Turn(**{name: value for name, value in row.items() if name not in ("trajectory", "place")})


def _sequence(db: sqlite3.Connection, row: Row) -> TokenSequence:
    query = "SELECT name, data FROM features WHERE trajectory = ? AND place = ?"
    features = dict(db.execute(query, (row["trajectory"], row["place"])).fetchall())
    named = {name: codec.unpack(data) for name, data in features.items()}
    return TokenSequence(**{name: codec.unpack(row[name]) for name in ARRAYS}, features=named)


def _scores(db: sqlite3.Connection, seen: list[Row]) -> Scores:
    channels = [dict(db.execute("SELECT name, value FROM channels WHERE trajectory = ?", (r["id"],))) for r in seen]
    turns = [dict(db.execute("SELECT name, data FROM turn_scores WHERE trajectory = ?", (r["id"],))) for r in seen]
    per_turn = {name: tuple(codec.unpack(one[name]) for one in turns) for name in turns[0]}
    return Scores(
        outcome=np.array([_number(row["outcome"]) for row in seen]),
        turns=per_turn.pop(TURN_REWARD, None),
        channels={name: np.array([_number(one[name]) for one in channels]) for name in channels[0]},
        turn_channels=per_turn,
        eligible=None if seen[0]["eligible"] is None else np.array([row["eligible"] for row in seen], bool),
    )


def _advantages(found: list[list[Row]]) -> Advantages | None:
    """Advantages of the scored siblings, from the rows of their sequences."""

    def ragged(name: str) -> tuple[tuple[np.ndarray, ...], ...] | None:
        if any(row.get(name) is None for rows in found for row in rows):
            return None
        return tuple(tuple(codec.unpack(row[name]) for row in rows) for rows in found)

    tokens = ragged("advantages") if found else None
    return None if tokens is None else Advantages(tokens, ragged("returns"), ragged("trains"))


def _of(table: str) -> str:
    return f"SELECT * FROM {table} WHERE trajectory = ? ORDER BY place"


def _rows(db: sqlite3.Connection, query: str, *keys: int | str | bytes | None) -> list[Row]:
    cursor = db.execute(query, keys)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def _number(value: float | None) -> float:
    return float("nan") if value is None else value  # SQLite keeps NaN as NULL
