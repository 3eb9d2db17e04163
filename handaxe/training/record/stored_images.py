"""Images of a run record: every image once, by digest, and the trajectories with references to each image."""

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.ops.codec import ImageSource

__all__ = ["StoredImage", "connect_reader", "delete_unshown", "image_source", "read_image", "write_images"]

StoredImage = tuple[str, bytes]
"""Media type and encoded bytes."""


def connect_reader(file: Path) -> sqlite3.Connection:
    """Open a database for reading, also in a read-only folder, where the log has no shared index."""
    try:
        db = sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode=ro", uri=True, timeout=30)
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db = sqlite3.connect(f"file:{quote(os.fsencode(file))}?immutable=1", uri=True)
    return db


def write_images(db: sqlite3.Connection, images: Iterable[Image], trajectories: Iterable[int]) -> None:
    """Insert missing images, and a reference from each trajectory to each image."""
    chosen = tuple(images)
    for image in chosen:
        if db.execute("SELECT 1 FROM images WHERE digest = ?", (image.digest,)).fetchone() is None:
            row = (image.digest, image.media_type, image.width, image.height, image.data)
            db.execute("INSERT OR IGNORE INTO images VALUES (?, ?, ?, ?, ?)", row)
    rows = [(trajectory, image.digest) for trajectory in trajectories for image in chosen]
    db.executemany("INSERT OR IGNORE INTO shown VALUES (?, ?)", rows)


def delete_unshown(db: sqlite3.Connection) -> None:
    """Delete images without a reference from a trajectory."""
    db.execute("DELETE FROM images WHERE digest NOT IN (SELECT digest FROM shown)")


def image_source(db: sqlite3.Connection, file: Path | None = None) -> ImageSource:
    """Make a function that returns images of a record. Equal images are one object; bytes are read on demand.

    Args:
        db: the record.
        file: path of the record: bytes are read from the file, in any thread, also after `db` was closed; None: bytes
            are read from `db`.
    """
    found: dict[str, Image] = {}

    def source(digest: str, width: int, height: int) -> Image:
        if digest not in found:
            row = db.execute("SELECT kind FROM images WHERE digest = ?", (digest,)).fetchone()
            if row is None:
                raise LookupError(f"the image {digest} is missing")
            found[digest] = Image(width, height, digest, media_type=row[0], load=lambda: _load(db, file, digest))
        return found[digest]

    return source


def read_image(db: sqlite3.Connection, digest: str) -> StoredImage | None:
    """Media type and encoded bytes of an image; None for an unknown digest."""
    row = db.execute("SELECT kind, data FROM images WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else (str(row[0]), bytes(row[1]))


def _load(db: sqlite3.Connection, file: Path | None, digest: str) -> bytes:
    try:
        if file is None:
            found = read_image(db, digest)
        else:
            with closing(connect_reader(file)) as own:
                found = read_image(own, digest)
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"the image {digest[:12]} of the run record {file} cannot be read: {error}") from error
    if found is None:
        raise InputError(f"the run record {file} has no image {digest[:12]} any more: the steps that show it are gone")
    return found[1]
