"""Paths of the user's cache, named by a digest of the inputs."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["cache_path", "content_digest"]


def cache_path(kind: str, name: str) -> Path:
    """Return HANDAXE_CACHE/kind/name, or ~/.cache/handaxe/kind/name; the parent folder is created if missing."""
    root = os.environ.get("HANDAXE_CACHE")
    folder = (Path(root) if root else Path.home() / ".cache" / "handaxe") / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def content_digest(parts: Iterable[str | bytes]) -> str:
    """Hash parts and their boundaries to 16 hexadecimal digits."""
    sha = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        sha.update(len(raw).to_bytes(8, "little") + raw)
    return sha.hexdigest()[:16]
