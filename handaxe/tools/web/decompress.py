"""Incremental decompression of HTTP bodies: a few kilobytes may expand to gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

__all__ = ["DecompressionError", "decompress"]

PIECE = 2**16
"""Bytes of the largest decompressed piece."""
WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class DecompressionError(Exception):
    """The body does not match its encoding, or the encoding is unsupported."""


def decompress(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Decompress a body in pieces; a caller with enough bytes stops iterating, and no more is decompressed.

    Args:
        chunks: received bytes.
        encoding: the header Content-Encoding, "" for none.

    Raises:
        DecompressionError: the body cannot be decompressed.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        yield from chunks
        return
    if encoding not in WINDOWS:
        raise DecompressionError(f"the answer is packed as {encoding[:40]!r}, which was not asked for")
    unpacker = zlib.decompressobj(WINDOWS[encoding])
    for chunk in chunks:
        left, piece = chunk, b""
        while not unpacker.eof and (left or len(piece) == PIECE):
            try:
                piece = unpacker.decompress(left, PIECE)
            except zlib.error as error:
                raise DecompressionError(f"the answer is not {encoding}: {error}") from None
            left = unpacker.unconsumed_tail
            yield piece
