from pathlib import Path

from handaxe.ops.cache import cached, digest


def test_the_folder_is_the_variables_or_the_homes(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "kept"))
    assert cached("starts", "one") == tmp_path / "kept" / "starts" / "one"
    assert (tmp_path / "kept" / "starts").is_dir() and not cached("starts", "one").exists()
    monkeypatch.delenv("HANDAXE_CACHE")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert cached("starts", "one") == tmp_path / "home" / ".cache" / "handaxe" / "starts" / "one"


def test_a_digest_tells_parts_apart():
    assert digest(["ab", "c"]) == digest([b"ab", "c"])
    assert len({digest(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""], [])}) == 5
