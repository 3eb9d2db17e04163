import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.escape import UNSAFE, escape


def test_escape_matches_the_docstring_example():
    assert escape("a\x1b[31mb\tc") == "a\\x1b[31mb\\tc"


@given(st.text())
def test_escape_removes_every_unsafe_character_but_kept_ones(text):
    assert not {unicodedata.category(char) for char in escape(text)} & UNSAFE
    assert escape(text, keep="\n").count("\n") == text.count("\n")
