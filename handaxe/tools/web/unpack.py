"""Unpacks the body of an HTTP answer piece by piece: a few kilobytes can be gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

__all__ = ["PackedError", "unpacked"]

PIECE = 2**16
"""Bytes of the largest piece that is made at once."""
WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class PackedError(Exception):
    """The body is packed in another way than it says, or than can be unpacked."""


def unpacked(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The body in pieces; a caller that has enough stops asking, and no more is unpacked.

    Args:
        chunks: as they came.
        encoding: the header Content-Encoding, "" for none.

    Raises:
        PackedError: it cannot be unpacked.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        yield from chunks
        return
    if encoding not in WINDOWS:
        raise PackedError(f"the answer is packed as {encoding[:40]!r}, which was not asked for")
    unpacker = zlib.decompressobj(WINDOWS[encoding])
    for chunk in chunks:
        left, piece = chunk, b""
        while not unpacker.eof and (left or len(piece) == PIECE):
            try:
                piece = unpacker.decompress(left, PIECE)
            except zlib.error as error:
                raise PackedError(f"the answer is not {encoding}: {error}") from None
            left = unpacker.unconsumed_tail
            yield piece
