import importlib.util

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tool_rec.film_data import FilmData, hide_attributes, load_films, permute_attributes, read_films

ITEMS = """item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq
7\tA "B\t1995\tDrama War
9\tC\t1954\tDrama
3\tunkonwn\tunkonwn\tunknown
"""
RATINGS = """user_id:token\titem_id:token\trating:float\ttimestamp:float
2\t9\t1\t30
1\t3\t5\t20
2\t7\t4\t10
1\t9\t2\t10
"""
DATA = FilmData((), {"a": np.eye(10), "b": np.arange(10.0)[:, None]}, {"a": tuple("0123456789"), "b": ("x",)})


def test_files_are_read_in_order_of_time(tmp_path):
    (tmp_path / "ml-100k.item").write_text(ITEMS)
    (tmp_path / "ml-100k.inter").write_text(RATINGS)
    data = read_films(tmp_path)
    assert [one.tolist() for one in data.sequences] == [[1, 2], [0, 1]]
    assert data.values == {"genre": ("Drama", "War"), "release_year": ("1950s", "1995")}
    assert data.attributes["genre"].tolist() == [[0.5, 0.5], [1, 0], [0, 0]]
    assert data.attributes["release_year"].tolist() == [[0, 1], [1, 0], [0, 0]]
    assert data.items == 3


def test_unreadable_files_raise(tmp_path):
    with pytest.raises(InputError, match="recbole 1.2.1 fits"):
        read_films(tmp_path)
    (tmp_path / "ml-100k.item").write_text(ITEMS)
    (tmp_path / "ml-100k.inter").write_text(RATINGS.replace("\t9\t", "\t8\t"))
    with pytest.raises(InputError, match="no readable ratings"):
        read_films(tmp_path)


def test_a_missing_package_raises(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps recbole"):
        load_films.__wrapped__()


@pytest.mark.skipif(importlib.util.find_spec("recbole") is None, reason="recbole is not installed")
def test_the_package_has_ratings_of_1682_films():
    data = load_films()
    assert len(data.sequences) == 943 and data.items == 1682 and sum(map(len, data.sequences)) == 100_000
    assert data.attributes["genre"].sum() == pytest.approx(1680)


def test_attributes_are_hidden_for_a_share_of_the_items():
    hidden = hide_attributes(DATA, known=0.3, seed=1)
    kept = hidden.attributes["a"].sum(axis=1) > 0
    assert kept.sum() == 3
    assert (hidden.attributes["a"] == DATA.attributes["a"] * kept[:, None]).all()
    assert (hidden.attributes["b"] == DATA.attributes["b"] * kept[:, None]).all()
    assert hide_attributes(DATA, known=1.0).attributes["a"].tolist() == np.eye(10).tolist()
    with pytest.raises(InputError, match="from 0 to 1"):
        hide_attributes(DATA, known=1.5)


def test_permuted_attributes_move_together():
    moved = permute_attributes(DATA, seed=1)
    order = moved.attributes["b"][:, 0].astype(int)
    assert sorted(order) == list(range(10)) != order.tolist()
    assert (moved.attributes["a"] == np.eye(10)[order]).all()
