import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.tools.truncate import truncate

DROPS = st.sampled_from(["head", "middle", "tail"])
# Surrogate halves included: a str may hold them, and a pair must not be torn.
TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud83d\ude00\u0301\u200d\ufe0f"), max_size=200)


def test_truncate_cuts_the_middle():
    cut = truncate("a" * 50 + "b" * 50, limit=40)
    assert cut == "aaaaaa[... 88 characters cut ...]bbbbbb"
    assert len(cut) == 39


def test_drop_selects_the_cut_part():
    text = "a" * 50 + "b" * 50
    assert truncate(text, limit=30, drop="tail") == "aa[... 98 characters cut ...]"
    assert truncate(text, limit=30, drop="head") == "[... 98 characters cut ...]bb"
    assert truncate(text, limit=100) == text
    assert [truncate(text, limit=n) for n in range(5)] == ["", ".", "..", "...", "..."]


def test_surrogate_pairs_and_clusters_stay_whole():
    assert "\ud83d" not in truncate("\ud83d\ude00" * 60, limit=31, drop="tail").replace("\ud83d\ude00", "")
    assert truncate("e\u0301" * 60, limit=31, drop="tail") == "e\u0301[... 118 characters cut ...]"
    # A run longer than can be stepped over is cut somewhere all the same.
    assert len(truncate("a" + "\u0301" * 300, limit=200, drop="tail")) > 150


@given(TEXTS, st.integers(0, 120), DROPS)
def test_truncate_keeps_both_ends_and_counts_the_cut_characters(text, limit, drop):
    cut = truncate(text, limit=limit, drop=drop)
    assert len(cut) <= limit
    assert cut == truncate(text, limit=limit, drop=drop)
    if len(text) <= limit:
        assert cut == text
    elif "[... " in cut:
        head, _, rest = cut.partition("[... ")
        count, _, tail = rest.partition(" characters cut ...]")
        assert text.startswith(head) and text.endswith(tail)
        assert len(head) + int(count) + len(tail) == len(text)
        stop = len(text) - len(tail)
        for place in (len(head), stop):
            if 0 < place < len(text):
                before, after = text[place - 1], text[place]
                assert not ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")


def test_negative_limit_raises():
    with pytest.raises(InputError, match="0 or more"):
        truncate("a", limit=-1)
