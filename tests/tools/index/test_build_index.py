import shutil
import subprocess
import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.index import build_index as build
from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.manifest import read_manifest
from handaxe.tools.index.search_index import open_index

pytest.importorskip("bm25s")
DOCUMENTS = [{"id": "kemi", "text": "kemi lies on the river arn."}, {"id": "luta", "text": "luta is a river."}]


def make(folder, documents=DOCUMENTS, **settings):
    return build_index(documents, folder, **{"dense": False, **settings})


def test_equal_index_is_not_rebuilt(tmp_path):
    folder = make(tmp_path / "new" / "index")
    first = read_manifest(folder)
    make(folder, documents=list(reversed(DOCUMENTS)))
    assert read_manifest(folder) == first and (first.documents, first.passages) == (2, 2)


def test_changed_input_rebuilds_the_index(tmp_path):
    made = [read_manifest(make(tmp_path))]
    for settings in ({"documents": [{"id": "a", "text": "b"}]}, {"k1": 1.0}, {"passage_chars": 20}, {"b": 0.5}):
        made.append(read_manifest(make(tmp_path, **settings)))
    assert len({manifest.data for manifest in made}) == 5
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [made[-1].data]


def test_damaged_index_is_rebuilt(tmp_path):
    data = make(tmp_path) / read_manifest(tmp_path).data
    (data / "bm25_data.npy").write_bytes(b"")
    make(tmp_path)
    assert open_index(tmp_path).rank("river", 5, way="bm25")
    (tmp_path / "manifest.json").write_text("{")
    make(tmp_path)
    shutil.rmtree(tmp_path / read_manifest(tmp_path).data)
    make(tmp_path)
    assert len(open_index(tmp_path).passages) == 2


def test_foreign_folder_raises(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="has files but no index"):
        make(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        make(tmp_path / "thesis.txt")
    make(tmp_path / "index")
    (tmp_path / "index" / "notes").mkdir()
    make(tmp_path / "index", k1=1.0)
    assert (tmp_path / "thesis.txt").read_text() == "years of work" and (tmp_path / "index" / "notes").is_dir()


def test_failed_build_keeps_the_old_index(tmp_path, monkeypatch):
    make(tmp_path)
    before = read_manifest(tmp_path)

    def fail(*args, **kwargs):
        raise OSError("the disk is full")

    monkeypatch.setattr(build, "write_lexical", fail)
    with pytest.raises(OSError, match="disk is full"):
        make(tmp_path, k1=1.0)
    monkeypatch.undo()
    assert read_manifest(tmp_path) == before and open_index(tmp_path).rank("river", 1, way="bm25")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [before.data]


def test_concurrent_processes_build_one_index(tmp_path):
    code = (
        "import sys; from handaxe.tools.index.build_index import build_index\n"
        "build_index([{'id': str(i), 'text': 'word ' + str(i)} for i in range(200)], sys.argv[1], dense=False)"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, tmp_path / "index"]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in started] == [0, 0, 0]
    assert len([path for path in (tmp_path / "index").iterdir() if path.is_dir()]) == 1
    assert len(open_index(tmp_path / "index").passages) == 200
