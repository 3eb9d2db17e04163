import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.escape import UNSAFE, escape


def test_the_documented_example():
    assert escape("a\x1b[31mb\tc") == "a\\x1b[31mb\\tc"


@given(st.text())
def test_nothing_unsafe_is_left_but_what_is_kept(text):
    assert not {unicodedata.category(char) for char in escape(text)} & UNSAFE
    assert escape(text, keep="\n").count("\n") == text.count("\n")
