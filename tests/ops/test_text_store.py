import numpy as np
import pytest
from helpers.embed_words import embed_words

from handaxe.core.errors import InputError
from handaxe.ops.text_store import Neighbour, TextStore

VECTORS = {"east": (1.0, 0.0), "north": (0.0, 1.0), "north east": (0.6, 0.8)}


def embed(texts):
    return np.array([VECTORS[text] for text in texts])


def filled(texts):
    store = TextStore(embed)
    for text in texts:
        store.add(text)
    return store


def test_nearest_by_hand():
    store = filled(["east", "north"])
    assert store.nearest("north east", k=2) == [Neighbour(1, pytest.approx(0.8)), Neighbour(0, pytest.approx(0.6))]
    assert [one.number for one in store.nearest("north east", k=2, least=0.7)] == [1]
    assert store.nearest("east", k=0) == [] and TextStore(embed).nearest("east", k=3) == []


def test_among_equal_texts_the_newest_is_first():
    assert [one.number for one in filled(["east", "north", "east"]).nearest("east", k=3)] == [2, 0, 1]


def test_remove_moves_later_texts_up():
    store = filled(["east", "north", "east"])
    store.remove([0])
    assert store.texts == ["north", "east"] and len(store) == 2
    assert store.nearest("east", k=1)[0].number == 1
    with pytest.raises(InputError, match=r"no \[2\]"):
        store.remove([2])


def test_cosines_equal_a_loop():
    store = TextStore(embed_words)
    texts = ["a b", "b c", "c d e", ""]
    for text in texts:
        store.add(text)
    for query in ("a", "c e", "z"):
        loop = [sum(x * y for x, y in zip(store.vector(query), store.vector(text), strict=True)) for text in texts]
        assert np.allclose(store.cosines(query), loop, atol=1e-9)
