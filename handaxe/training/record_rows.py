"""The tables of a run record, and how a group becomes rows of them and comes back.

Everything that a trajectory holds is kept, token arrays as compressed blobs. What one asks for in SQL (step, task,
ending, outcome, channels, calls, tokens) has columns of its own.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from handaxe.records import Advantages, Ending, Group, Scores, TokenSequence, Trajectory, Turn
from handaxe.training import codec

__all__ = ["Fate", "GroupRecord", "SCHEMA", "read_group", "write_group"]

Fate = Literal["trained", "unselected", "surplus", "dropped", "unscored"]

SCHEMA = """
CREATE TABLE steps (step INTEGER PRIMARY KEY, time REAL);
CREATE TABLE metrics (step INTEGER, name TEXT, value REAL, PRIMARY KEY (step, name)) WITHOUT ROWID;
CREATE TABLE evaluations (step INTEGER PRIMARY KEY, result TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, step INTEGER, kind TEXT, text TEXT, time REAL);
CREATE TABLE toolsets (id INTEGER PRIMARY KEY, schemas TEXT UNIQUE);
CREATE TABLE groups (id INTEGER PRIMARY KEY, step INTEGER, task_id TEXT, task TEXT, fate TEXT);
CREATE TABLE trajectories (
    id INTEGER PRIMARY KEY,
    group_id INTEGER REFERENCES groups (id) ON DELETE CASCADE,
    name TEXT, sample INTEGER, ending TEXT, reason TEXT, scored INTEGER, trained INTEGER, outcome REAL,
    eligible INTEGER, num_turns INTEGER, num_calls INTEGER, num_tokens INTEGER, final_text TEXT, cost REAL,
    seconds REAL, seed INTEGER, branch TEXT, env TEXT, messages TEXT, toolset INTEGER REFERENCES toolsets (id));
CREATE TABLE turns (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, sequence INTEGER, start INTEGER, stop INTEGER, finish TEXT, parsed TEXT, sampling TEXT,
    seed INTEGER, replies TEXT, seconds REAL, cost REAL, PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
CREATE TABLE sequences (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, ids BLOB, author BLOB, turn BLOB, logp BLOB, behaviour_logp BLOB, version BLOB,
    advantages BLOB, returns BLOB, PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
CREATE TABLE features (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, name TEXT, data BLOB, PRIMARY KEY (trajectory, place, name)) WITHOUT ROWID;
CREATE TABLE channels (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, value REAL, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
CREATE TABLE turn_scores (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, data BLOB, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
CREATE INDEX groups_by_step ON groups (step);
CREATE INDEX trajectories_by_group ON trajectories (group_id);
"""

TURN_REWARD = ""
"""The name under which Scores.turns stands among the turn_scores; channels of turns have names of their own."""


@dataclass(frozen=True, eq=False)
class GroupRecord:
    """A group as its step left it.

    group       everything that was generated, failures and superseded attempts included
    scored      [G] bool: siblings the reward scored; the others ended in an error that is nobody's to score, were
                superseded by a retry, or stand in a group that was dropped before the reward
    trained     [G] bool: siblings whose tokens entered the loss
    scores      of the scored siblings alone, in their order; None when nothing was scored
    advantages  of the scored siblings alone, as the loss saw them
    fate        trained; unselected (by the selector); surplus (cut after a refill); dropped (an ending said
                drop_group); unscored (nothing in it could be scored)
    """

    group: Group
    scored: np.ndarray
    trained: np.ndarray
    scores: Scores | None = None
    advantages: Advantages | None = None
    fate: Fate = "trained"


def write_group(db: sqlite3.Connection, record: GroupRecord) -> None:
    """Insert a group and all it holds."""
    group, scores, advantages = record.group, record.scores, record.advantages
    row = (group.step, codec.dump_text(group.task.id), codec.dump_task(group.task), record.fate)
    group_id = _insert(db, "groups (step, task_id, task, fate)", row)
    place = np.cumsum(record.scored) - 1
    for i, trajectory in enumerate(group):
        k = int(place[i]) if record.scored[i] else None
        row_id = _write_trajectory(db, group_id, trajectory, record, i, k)
        _write_turns(db, row_id, trajectory)
        for s, sequence in enumerate(trajectory.sequences):
            adv = None if advantages is None or k is None else advantages.tokens[k][s]
            target = None if adv is None or advantages is None or advantages.returns is None else advantages.returns
            _write_sequence(db, row_id, s, sequence, adv, None if target is None or k is None else target[k][s])
        if scores is not None and k is not None:
            _write_scores(db, row_id, scores, k)


def _write_trajectory(
    db: sqlite3.Connection, group_id: int, one: Trajectory, record: GroupRecord, i: int, k: int | None
) -> int:
    tools = codec.dump_tools(one.tools)
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
        "branch": codec.dump_branch(one.branch_of),
        "env": codec.dump_json(dict(one.env)),
        "messages": codec.dump_messages(one.messages),
        "toolset": toolset,
    }
    return _insert(db, f"trajectories ({', '.join(row)})", tuple(row.values()))


def _write_turns(db: sqlite3.Connection, row_id: int, trajectory: Trajectory) -> None:
    for place, turn in enumerate(trajectory.turns):
        parsed, sampling = codec.dump_parsed(turn.parsed), codec.dump_sampling(turn.sampling)
        replies = codec.dump_replies(turn.replies)
        row = (row_id, place, turn.sequence, turn.start, turn.stop, turn.finish, parsed, sampling)
        _insert(db, "turns", (*row, turn.seed, replies, turn.seconds, turn.cost))


def _write_sequence(
    db: sqlite3.Connection,
    row_id: int,
    place: int,
    one: TokenSequence,
    adv: np.ndarray | None,
    target: np.ndarray | None,
) -> None:
    arrays = [one.ids, one.author, one.turn, one.logp, one.behaviour_logp, one.version, adv, target]
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


def read_group(db: sqlite3.Connection, group_id: int, step: int, task: str, fate: Fate) -> GroupRecord:
    """The group that `write_group` was given."""
    parsed_task = codec.load_task(task)
    rows = _rows(db, "SELECT * FROM trajectories WHERE group_id = ? ORDER BY id", group_id)
    trajectories = []
    for row in rows:
        (tools,) = db.execute("SELECT schemas FROM toolsets WHERE id = ?", (row["toolset"],)).fetchone()
        trajectories.append(
            Trajectory(
                id=codec.load_text(row["name"]),
                task=parsed_task,
                sample=row["sample"],
                turns=tuple(_turn(t) for t in _rows(db, _of("turns"), row["id"])),
                sequences=tuple(_sequence(db, s) for s in _rows(db, _of("sequences"), row["id"])),
                ending=Ending(row["ending"], codec.load_text(row["reason"])),
                messages=codec.load_messages(row["messages"]),
                tools=codec.load_tools(tools),
                seed=row["seed"],
                branch_of=codec.load_branch(row["branch"]),
                env=codec.load_json(row["env"]),
                seconds=row["seconds"],
            )
        )
    seen = [row for row in rows if row["scored"]]
    return GroupRecord(
        group=Group(parsed_task, tuple(trajectories), step),
        scored=np.array([row["scored"] for row in rows], bool),
        trained=np.array([row["trained"] for row in rows], bool),
        scores=_scores(db, seen) if seen else None,
        advantages=_advantages(db, seen),
        fate=fate,
    )


def _turn(row: dict[str, Any]) -> Turn:
    row = row | {
        "parsed": codec.load_parsed(row["parsed"]),
        "sampling": codec.load_sampling(row["sampling"]),
        "replies": codec.load_replies(row["replies"]),
    }
    return Turn(**{name: value for name, value in row.items() if name not in ("trajectory", "place")})


def _sequence(db: sqlite3.Connection, row: dict[str, Any]) -> TokenSequence:
    query = "SELECT name, data FROM features WHERE trajectory = ? AND place = ?"
    features = dict(db.execute(query, (row["trajectory"], row["place"])).fetchall())
    names = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
    return codec.load_sequence([row[name] for name in names], features)


def _scores(db: sqlite3.Connection, seen: list[dict[str, Any]]) -> Scores:
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


def _advantages(db: sqlite3.Connection, seen: list[dict[str, Any]]) -> Advantages | None:
    query = "SELECT advantages, returns FROM sequences WHERE trajectory = ? ORDER BY place"
    found = [db.execute(query, (row["id"],)).fetchall() for row in seen]
    if not found or any(adv is None for rows in found for adv, _ in rows):
        return None
    returns = None
    if all(target is not None for rows in found for _, target in rows):
        returns = tuple(tuple(codec.unpack(target) for _, target in rows) for rows in found)
    return Advantages(tuple(tuple(codec.unpack(adv) for adv, _ in rows) for rows in found), returns)


def _insert(db: sqlite3.Connection, table: str, row: tuple[Any, ...]) -> int:
    """Insert a row; `table` is one of this file's own literals. Returns its id."""
    return db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row).lastrowid or 0


def _of(table: str) -> str:
    return f"SELECT * FROM {table} WHERE trajectory = ? ORDER BY place"


def _rows(db: sqlite3.Connection, query: str, key: int) -> list[dict[str, Any]]:
    cursor = db.execute(query, (key,))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def _number(value: float | None) -> float:
    return float("nan") if value is None else value  # SQLite keeps NaN as NULL
