from pathlib import Path

from handaxe.ops.cache_path import cache_path, content_digest


def test_cache_path_uses_the_variable_else_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "kept"))
    assert cache_path("starts", "one") == tmp_path / "kept" / "starts" / "one"
    assert (tmp_path / "kept" / "starts").is_dir() and not cache_path("starts", "one").exists()
    monkeypatch.delenv("HANDAXE_CACHE")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert cache_path("starts", "one") == tmp_path / "home" / ".cache" / "handaxe" / "starts" / "one"


def test_content_digest_depends_on_part_boundaries():
    assert content_digest(["ab", "c"]) == content_digest([b"ab", "c"])
    assert len({content_digest(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""], [])}) == 5
