import gzip
import itertools
import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.tools.web import unpack
from handaxe.tools.web.unpack import PackedError, unpacked


@given(st.binary(max_size=300), st.integers(1, 40), st.sampled_from(["gzip", "x-gzip", "deflate"]))
def test_any_body_comes_back_in_any_chunks(body, size, encoding):
    packed = zlib.compress(body * 50) if encoding == "deflate" else gzip.compress(body * 50)
    chunks = (packed[at : at + size] for at in range(0, len(packed), size))
    assert b"".join(unpacked(chunks, encoding)) == body * 50


def test_what_is_not_packed_is_left_alone():
    assert list(unpacked([b"a", b"b"], "")) == list(unpacked([b"a", b"b"], " Identity ")) == [b"a", b"b"]


@pytest.mark.parametrize("size", [2**16, 2**16 + 1, 2**17, 10**6])
def test_pieces_are_small_and_nothing_is_lost(size):
    for body in (bytes(size), os.urandom(size)):
        pieces = list(unpacked([gzip.compress(body)], "gzip"))
        assert b"".join(pieces) == body and max(map(len, pieces)) <= unpack.PIECE


def test_a_bomb_is_unpacked_no_further_than_it_is_read():
    """A petabyte, as it were: unpacked whole it would not end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros, more = bytes(2**20), [packer.compress(bytes(2**20)) for _ in range(8)]
    endless = itertools.chain(more, itertools.repeat(packer.compress(zeros)))
    assert sum(map(len, itertools.islice(unpacked(endless, "gzip"), 3))) <= 3 * unpack.PIECE


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "a" * 99])
def test_what_cannot_be_unpacked(encoding):
    with pytest.raises(PackedError, match="packed as|is not"):
        list(unpacked([b"hello" * 9], encoding))
