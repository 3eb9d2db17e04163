"""Tables of a run record, and upgrades of older formats.

A record stores whole trajectories, with token arrays as compressed blobs. Common search terms (step, task, ending,
outcome, channels, calls, tokens) have separate columns. `images` holds every image once, by digest; `shown` holds
the references of trajectories to images.

The format number is in PRAGMA user_version. Older records are read without changes: a missing column reads as the
field's default. `RunRecord(folder)`, which continues a run, adds the columns first.
"""

import sqlite3

from handaxe.core.errors import InputError

__all__ = ["FORMAT", "SCHEMA", "create", "record_format", "upgrade"]

FORMAT = 7

SCHEMA = """
CREATE TABLE steps (step INTEGER PRIMARY KEY, time REAL);
CREATE TABLE metrics (step INTEGER, name TEXT, value REAL, PRIMARY KEY (step, name)) WITHOUT ROWID;
CREATE TABLE evaluations (step INTEGER PRIMARY KEY, result TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, step INTEGER, kind TEXT, text TEXT, time REAL);
CREATE TABLE toolsets (id INTEGER PRIMARY KEY, schemas TEXT UNIQUE);
CREATE TABLE groups (id INTEGER PRIMARY KEY, step INTEGER, task_id TEXT, task TEXT, fate TEXT, part INTEGER);
CREATE TABLE trajectories (
    id INTEGER PRIMARY KEY,
    group_id INTEGER REFERENCES groups (id) ON DELETE CASCADE,
    name TEXT, sample INTEGER, ending TEXT, reason TEXT, scored INTEGER, trained INTEGER, outcome REAL,
    eligible INTEGER, num_turns INTEGER, num_calls INTEGER, num_tokens INTEGER, final_text TEXT, cost REAL,
    seconds REAL, seed INTEGER, branch TEXT, env TEXT, messages TEXT, toolset INTEGER REFERENCES toolsets (id),
    notes TEXT, asked TEXT, spent TEXT, total REAL, called TEXT, left_out_by TEXT, age REAL,
    dispositions TEXT);
CREATE TABLE turns (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, sequence INTEGER, start INTEGER, stop INTEGER, finish TEXT, parsed TEXT, sampling TEXT,
    seed INTEGER, replies TEXT, seconds REAL, cost REAL, facts TEXT, PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
CREATE TABLE sequences (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, ids BLOB, author BLOB, turn BLOB, logp BLOB, behaviour_logp BLOB, version BLOB,
    advantages BLOB, returns BLOB, trains BLOB, pushed BLOB,
    PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
CREATE TABLE features (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, name TEXT, data BLOB, PRIMARY KEY (trajectory, place, name)) WITHOUT ROWID;
CREATE TABLE channels (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, value REAL, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
CREATE TABLE turn_scores (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, data BLOB, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
CREATE TABLE images (digest TEXT PRIMARY KEY, kind TEXT, width INTEGER, height INTEGER, data BLOB);
CREATE TABLE shown (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    digest TEXT REFERENCES images (digest), PRIMARY KEY (trajectory, digest)) WITHOUT ROWID;
CREATE INDEX groups_by_step ON groups (step);
CREATE INDEX shown_by_digest ON shown (digest);
CREATE INDEX trajectories_by_group ON trajectories (group_id);
CREATE INDEX trajectories_in_short ON trajectories (
    group_id, sample, ending, reason, scored, trained, outcome, total, num_turns, num_calls, num_tokens, cost, seconds,
    called, left_out_by);
"""
"""The last index covers the columns that tables of trajectories show and search, so that a scan of a hundred thousand
rows reads no messages.
"""

ADDED = {
    2: """
ALTER TABLE groups ADD COLUMN part INTEGER;
ALTER TABLE trajectories ADD COLUMN notes TEXT;
ALTER TABLE turns ADD COLUMN facts TEXT;
ALTER TABLE sequences ADD COLUMN trains BLOB;
""",
    3: """
ALTER TABLE trajectories ADD COLUMN asked TEXT;
""",
    4: "ALTER TABLE trajectories ADD COLUMN spent TEXT;",
    5: """
ALTER TABLE trajectories ADD COLUMN total REAL;
ALTER TABLE trajectories ADD COLUMN called TEXT;
ALTER TABLE trajectories ADD COLUMN left_out_by TEXT;
ALTER TABLE trajectories ADD COLUMN age REAL;
ALTER TABLE sequences ADD COLUMN pushed BLOB;
CREATE INDEX trajectories_in_short ON trajectories (
    group_id, sample, ending, reason, scored, trained, outcome, total, num_turns, num_calls, num_tokens, cost, seconds,
    called, left_out_by);
""",
    6: "ALTER TABLE trajectories ADD COLUMN dispositions TEXT;",
    7: """
CREATE TABLE images (digest TEXT PRIMARY KEY, kind TEXT, width INTEGER, height INTEGER, data BLOB);
CREATE TABLE shown (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    digest TEXT REFERENCES images (digest), PRIMARY KEY (trajectory, digest)) WITHOUT ROWID;
CREATE INDEX shown_by_digest ON shown (digest);
""",
}
"""Format -> script that upgrades the tables of the previous format. Added columns are last in their table, here as in
SCHEMA, since rows are written by position.
"""


def create(db: sqlite3.Connection) -> None:
    """Create the tables in an empty file."""
    db.executescript(f"BEGIN;{SCHEMA}PRAGMA user_version = {FORMAT};COMMIT;")


def record_format(db: sqlite3.Connection, where: str) -> int:
    """Return the format of a record; 0 without tables.

    Raises:
        InputError: a record of a later handaxe, or a database of another program.
    """
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if not 0 <= found <= FORMAT:
        raise InputError(
            f"{where} holds a record of format {found}; this handaxe reads formats up to {FORMAT}. Update handaxe"
        )
    if not found and db.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise InputError(f"{where} holds a record.sqlite that is not a run record: its tables have no format")
    return found


def upgrade(db: sqlite3.Connection, found: int) -> None:
    """Add the missing tables and columns to a record of format `found`, in one transaction."""
    if found < FORMAT:
        script = "".join(ADDED[number] for number in range(found + 1, FORMAT + 1))
        db.executescript(f"BEGIN IMMEDIATE;{script}PRAGMA user_version = {FORMAT};COMMIT;")
