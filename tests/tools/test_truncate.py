import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image, join_images, split_images
from handaxe.tools.truncate import truncate, truncate_content

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


IMAGES = tuple(Image.of(np.full((1, 1, 3), k, np.uint8)) for k in range(4))


def test_texts_between_images_share_the_limit():
    text = "a" * 50 + PLACEHOLDER + "bb"
    cut, images = truncate_content(text, IMAGES[:1], limit=40, max_images=8)
    assert cut == f"aaaaaa[... 39 characters cut ...]aaaaa{PLACEHOLDER}bb" and images == IMAGES[:1]
    assert truncate_content("a" * 50, (), limit=40, max_images=8)[0] == truncate("a" * 50, limit=40)
    assert truncate_content(text, IMAGES[:1], limit=52, max_images=8) == (text, IMAGES[:1])


def test_further_images_are_counted_in_words():
    text, images = join_images("a", *IMAGES, "z")
    assert truncate_content(text, images, limit=99, max_images=4) == (text, images)
    assert truncate_content(text, images, limit=99, max_images=3)[0].endswith("z[1 further image left out]")
    cut, kept = truncate_content(text, images, limit=99, max_images=1)
    assert (cut, kept) == (f"a{PLACEHOLDER}z[3 further images left out]", IMAGES[:1])
    assert truncate_content(text, images, limit=99, max_images=0) == ("az[4 further images left out]", ())


@given(st.lists(st.one_of(st.sampled_from(IMAGES), TEXTS), max_size=8), st.integers(0, 200), st.integers(0, 5), DROPS)
def test_placeholders_and_images_stay_together(parts, limit, most, drop):
    text, images = join_images(*parts)
    cut, kept = truncate_content(text, images, limit=limit, max_images=most, drop=drop)
    assert kept == images[:most] and len(cut) - len(kept) <= limit
    split_images(cut, kept)
    if not images:
        assert cut == truncate(text, limit=limit, drop=drop)
    elif len(text) - len(images) <= limit and len(images) <= most:
        assert cut == text
