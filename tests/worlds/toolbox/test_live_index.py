import pytest
from helpers.count_words import count_words
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.tool_documents import ToolDocument

pytest.importorskip("bm25s")

TEXTS = {
    "area": "area of a circle",
    "sum": "sum of two numbers",
    "hotel": "book a hotel in a city",
    "taxi": "book a taxi",
}
WAYS = ("bm25", "dense", "hybrid")


def document(name, text):
    return ToolDocument(name, name, text, "")


def index_of(texts):
    index = LiveIndex(TextVectors(count_words), fields=("description",))
    index.put([document(name, text) for name, text in texts.items()])
    return index


@pytest.mark.parametrize("way", WAYS)
def test_best_tool_is_first(way):
    index = index_of(TEXTS)
    assert index.rank("please book a taxi", 2, way=way)[0] == "taxi"
    assert index.rank("", 3, way=way) == [] and index.rank("taxi", 0, way=way) == []


def test_bm25_finds_tools_with_a_common_word_alone():
    assert set(index_of(TEXTS).rank("book", 9, way="bm25")) == {"hotel", "taxi"}
    assert len(index_of(TEXTS).rank("book", 9, way="dense")) == 4


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([None, *TEXTS.values()])), max_size=8))
def test_changed_index_ranks_as_a_new_one(changes):
    index, kept = index_of(TEXTS), dict(TEXTS)
    for name, text in changes:
        if text is None and name in kept:
            index.remove([name])
            del kept[name]
        elif text is not None:
            index.put([document(name, text)])
            kept[name] = text
        index.rank("book a city", 3)
    fresh = index_of(kept)
    assert len(index) == len(kept) and index.documents == fresh.documents
    for way in WAYS:
        assert index.rank("book a hotel or sum numbers", 9, way=way) == fresh.rank(
            "book a hotel or sum numbers", 9, way=way
        )


def test_texts_are_embedded_once():
    vectors = TextVectors(count_words)
    index = LiveIndex(vectors, fields=("description",))
    index.put([document(name, text) for name, text in TEXTS.items()])
    index.rank("taxi", 1, way="dense")
    assert vectors.computed == 5
    index.put([document("new", TEXTS["taxi"])])
    index.rank("taxi", 1, way="dense")
    assert vectors.computed == 5


def test_similarities_are_cosines_in_the_order_of_names():
    index = index_of(TEXTS)
    found = index.similarities("book a taxi", ["sum", "taxi"])
    assert found == pytest.approx([0.0, 1.0], abs=1e-6)


def test_unknown_names_and_ways_raise():
    index = index_of(TEXTS)
    with pytest.raises(InputError, match="no tools"):
        index.remove(["area", "nothing"])
    assert len(index) == 4
    with pytest.raises(InputError, match="not by 'best'"):
        index.rank("taxi", 1, way="best")
    assert LiveIndex(TextVectors(count_words)).rank("taxi", 1) == []
