"""Where what was made once is kept for the next time: outside the repository, by digest of what it was made from."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["cached", "digest"]


def cached(kind: str, name: str) -> Path:
    """The path HANDAXE_CACHE/kind/name, or ~/.cache/handaxe/kind/name; its parent exists afterwards."""
    root = os.environ.get("HANDAXE_CACHE")
    folder = (Path(root) if root else Path.home() / ".cache" / "handaxe") / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def digest(parts: Iterable[str | bytes]) -> str:
    """16 hexadecimal digits that differ where a part does; where one part ends and the next begins counts."""
    made = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        made.update(len(raw).to_bytes(8, "little") + raw)
    return made.hexdigest()[:16]
