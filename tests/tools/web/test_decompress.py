import gzip
import itertools
import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.tools.web import decompress as unpack
from handaxe.tools.web.decompress import DecompressionError, decompress


@given(st.binary(max_size=300), st.integers(1, 40), st.sampled_from(["gzip", "x-gzip", "deflate"]))
def test_decompress_inverts_compression_for_any_chunks(body, size, encoding):
    packed = zlib.compress(body * 50) if encoding == "deflate" else gzip.compress(body * 50)
    chunks = (packed[at : at + size] for at in range(0, len(packed), size))
    assert b"".join(decompress(chunks, encoding)) == body * 50


def test_uncompressed_body_is_unchanged():
    assert list(decompress([b"a", b"b"], "")) == list(decompress([b"a", b"b"], " Identity ")) == [b"a", b"b"]


@pytest.mark.parametrize("size", [2**16, 2**16 + 1, 2**17, 10**6])
def test_pieces_are_bounded_and_complete(size):
    for body in (bytes(size), os.urandom(size)):
        pieces = list(decompress([gzip.compress(body)], "gzip"))
        assert b"".join(pieces) == body and max(map(len, pieces)) <= unpack.PIECE


def test_decompression_is_lazy():
    """A petabyte, as it were: unpacked whole it would not end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros, more = bytes(2**20), [packer.compress(bytes(2**20)) for _ in range(8)]
    endless = itertools.chain(more, itertools.repeat(packer.compress(zeros)))
    assert sum(map(len, itertools.islice(decompress(endless, "gzip"), 3))) <= 3 * unpack.PIECE


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "a" * 99])
def test_invalid_body_raises(encoding):
    with pytest.raises(DecompressionError, match="packed as|is not"):
        list(decompress([b"hello" * 9], encoding))
