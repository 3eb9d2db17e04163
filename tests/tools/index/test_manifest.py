import json

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.index.documents import Document
from handaxe.tools.index.manifest import Manifest, check_files, digest_documents, digest_files, read_manifest


def write(folder, **changes):
    manifest = Manifest("c", {"k1": 1.5}, 1, 2, "data", {"a": "b"})
    raw = {**json.loads(manifest.text()), **changes}
    (folder / "manifest.json").write_text(json.dumps(raw))
    return manifest


def test_manifest_round_trips(tmp_path):
    assert write(tmp_path) == read_manifest(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [{"files": {"../a": "b"}}, {"files": {"a/b": "c"}}, {"data": ".."}, {"data": "/etc"}, {"data": ""}, {"content": 3},
     {"documents": None}, {"format": "handaxe search index 0"}, {"format": None}],
)  # fmt: skip
def test_invalid_manifest_raises(tmp_path, changes):
    write(tmp_path, **changes)
    with pytest.raises(InputError, match="build the index again"):
        read_manifest(tmp_path)


def test_damaged_or_missing_manifest_raises(tmp_path):
    for text in ("", "{", "[" * 100_000, "[]", "3"):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(InputError, match="again"):
            read_manifest(tmp_path)
    for folder in (tmp_path / "none", tmp_path / "manifest.json"):
        with pytest.raises(InputError, match="make one with build_index"):
            read_manifest(folder)


def test_changed_file_raises(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "a").write_bytes(b"abc")
    manifest = Manifest("c", {}, 1, 1, "data", digest_files(data))
    check_files(tmp_path, manifest)
    (data / "a").write_bytes(b"abd")
    with pytest.raises(InputError, match="was changed"):
        check_files(tmp_path, manifest)
    (data / "a").unlink()
    with pytest.raises(FileNotFoundError):
        check_files(tmp_path, manifest)


def test_digest_depends_on_every_field():
    documents = [Document("a", "b", "c"), Document("ab", "", "c"), Document("a", "b", "d"), Document("a", "", "bc")]
    assert len({digest_documents([document]) for document in documents}) == 4
    assert digest_documents(documents[:1]) == digest_documents([Document("a", "b", "c")])
