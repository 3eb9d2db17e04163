"""Sources of a run: copies of files, modules by their kept path, and sentences for missing and changed ones."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.methods import run_sources
from handaxe.methods.run_sources import find_files, find_modules, present_path, record_sources


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Working folder with a file and an imported module; the run is beside it."""
    here = tmp_path / "project"
    (here / "pack").mkdir(parents=True)
    (here / "shop.csv").write_text("question,answer\n1+1,2\n")
    (here / "own_sources.py").write_text("value = 1\n")
    (here / "pack" / "__init__.py").write_text("")
    (here / "pack" / "inner_sources.py").write_text("value = 2\n")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [str(here), *sys.path])
    yield here
    for name in ("own_sources", "pack.inner_sources", "pack"):
        sys.modules.pop(name, None)


NAMES = {"tools": ["own_sources:value", "calculator"], "world.score": "pack.inner_sources:value", "world.noise": "1:2"}


def recorded(project, out):
    import own_sources  # noqa: F401
    import pack.inner_sources  # noqa: F401

    found = record_sources(NAMES, {"file": Path("shop.csv")}, out)
    return json.loads(json.dumps(found))


def elsewhere(project, tmp_path, monkeypatch):
    """Another process in another folder: nothing of the project is imported."""
    (tmp_path / "else").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "else")
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(project)])
    for name in ("own_sources", "pack.inner_sources", "pack"):
        sys.modules.pop(name, None)


def test_a_copy_is_found_after_the_run_moved_and_the_original_vanished(project, tmp_path, monkeypatch):
    sources = recorded(project, tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "moved")
    (project / "shop.csv").unlink()
    elsewhere(project, tmp_path, monkeypatch)
    (found,) = find_files(sources, tmp_path / "moved").values()
    assert Path(found).read_text() == "question,answer\n1+1,2\n" and Path(found).name == "shop.csv"


def test_a_changed_copy_is_refused(project, tmp_path):
    sources = recorded(project, tmp_path / "run")
    (tmp_path / "run" / sources["files"]["file"]["copy"]).write_text("changed")
    with pytest.raises(InputError, match="differs from the file of the run in .*put it back as it was"):
        find_files(sources, tmp_path / "run")


def test_a_file_above_the_limit_is_kept_by_path_and_digest(project, tmp_path, monkeypatch):
    monkeypatch.setattr(run_sources, "LARGEST_COPY", 10)
    sources = recorded(project, tmp_path / "run")
    assert sources["files"]["file"]["copy"] == "" and not (tmp_path / "run").exists()
    elsewhere(project, tmp_path, monkeypatch)
    assert find_files(sources, tmp_path / "run") == {"file": str(project / "shop.csv")}
    (project / "shop.csv").write_text("changed")
    with pytest.raises(InputError, match="differs from the file of the run"):
        find_files(sources, tmp_path / "run")
    (project / "shop.csv").unlink()
    with pytest.raises(InputError, match=r"read shop.csv: .* is gone, and has no copy \(0 MB, above the limit"):
        find_files(sources, tmp_path / "run")


def test_a_folder_is_copied_whole(project, tmp_path):
    (project / "data" / "train").mkdir(parents=True)
    (project / "data" / "train" / "a.arrow").write_text("a")
    sources = record_sources({}, {"file": Path("data")}, tmp_path / "run")
    shutil.rmtree(project / "data")
    (found,) = find_files(sources, tmp_path / "run").values()
    assert (Path(found) / "train" / "a.arrow").read_text() == "a"


def test_a_resume_keeps_the_files_of_the_start(project, tmp_path):
    before = recorded(project, tmp_path / "run")
    (project / "shop.csv").write_text("later")
    after = record_sources(NAMES, {"file": Path("shop.csv")}, tmp_path / "run", earlier=before)
    assert after["files"] == before["files"] and after["folder"] == str(project)


def test_a_copy_outside_the_run_is_refused(project, tmp_path):
    sources = recorded(project, tmp_path / "run")
    sources["files"]["file"]["copy"] = "../project/shop.csv"
    with pytest.raises(InputError, match="is outside the folder"):
        find_files(sources, tmp_path / "run")


def test_modules_of_the_user_are_kept_with_folder_and_digest(project, tmp_path):
    modules = recorded(project, tmp_path / "run")["modules"]
    assert set(modules) == {"own_sources", "pack.inner_sources"}
    assert modules["pack.inner_sources"]["file"] == str(project / "pack" / "inner_sources.py")
    assert {one["folder"] for one in modules.values()} == {str(project)}


def test_a_module_is_imported_from_its_kept_path(project, tmp_path, monkeypatch, capsys):
    sources = recorded(project, tmp_path / "run")
    elsewhere(project, tmp_path, monkeypatch)
    (tmp_path / "else" / "own_sources.py").write_text("value = 'another'\n")
    find_modules(sources, NAMES, tmp_path / "run")
    import own_sources
    import pack.inner_sources

    assert own_sources.value == 1 and pack.inner_sources.value == 2 and capsys.readouterr().err == ""


def test_a_changed_module_is_one_sentence(project, tmp_path, monkeypatch, capsys):
    sources = recorded(project, tmp_path / "run")
    elsewhere(project, tmp_path, monkeypatch)
    (project / "own_sources.py").write_text("value = 3\n")
    find_modules(sources, NAMES, tmp_path / "run")
    error = capsys.readouterr().err
    assert "own_sources.py has changed since the run" in error and error.count("\n") == 1


def test_a_missing_module_is_one_sentence(project, tmp_path, monkeypatch):
    sources = recorded(project, tmp_path / "run")
    elsewhere(project, tmp_path, monkeypatch)
    (project / "own_sources.py").unlink()
    with pytest.raises(InputError, match="needs module 'own_sources', and .* is gone: put the file back"):
        find_modules(sources, NAMES, tmp_path / "run")
    find_modules(sources, {"tools": ["pack.inner_sources:value"]}, tmp_path / "run")


def test_a_missing_module_is_found_in_the_working_folder(project, tmp_path, monkeypatch):
    sources = recorded(project, tmp_path / "run")
    elsewhere(project, tmp_path, monkeypatch)
    shutil.move(project / "own_sources.py", tmp_path / "else" / "own_sources.py")
    find_modules(sources, {"tools": ["own_sources:value"]}, tmp_path / "run")


def test_another_module_of_the_same_name_is_refused(project, tmp_path, monkeypatch):
    sources = recorded(project, tmp_path / "run")
    elsewhere(project, tmp_path, monkeypatch)
    (tmp_path / "else" / "own_sources.py").write_text("value = 'another'\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "else"), *sys.path])
    import own_sources  # noqa: F401

    with pytest.raises(InputError, match="this process has imported .* under this name"):
        find_modules(sources, NAMES, tmp_path / "run")


def test_a_module_in_the_folder_of_the_run_is_refused(project, tmp_path):
    sources = recorded(project, project.parent / "run")
    with pytest.raises(InputError, match="lies in the folder of the run"):
        find_modules(sources, NAMES, project)


def test_present_path_is_relative_to_the_start_of_the_run(project, tmp_path, monkeypatch):
    sources = {"folder": str(project)}
    assert present_path("pack", sources) == "pack"
    elsewhere(project, tmp_path, monkeypatch)
    assert present_path("pack", sources) == str(project / "pack")
    assert [present_path(one, sources) for one in ("tiny", "/a", "")] == ["tiny", "/a", ""]
    assert present_path("pack", {}) == "pack" and os.getcwd() != str(project)


def test_files_of_a_pattern_are_copied_to_a_folder(project, tmp_path, monkeypatch):
    for name in ("train-0.jsonl", "train-1.jsonl", "other.jsonl"):
        (project / name).write_text(name)
    sources = record_sources({}, {"data": Path("train-*.jsonl")}, tmp_path / "run")
    for name in ("train-0.jsonl", "train-1.jsonl"):
        (project / name).unlink()
    (found,) = find_files(sources, tmp_path / "run").values()
    assert sorted(file.name for file in Path(found).iterdir()) == ["train-0.jsonl", "train-1.jsonl"]
    (Path(found) / "train-1.jsonl").write_text("changed")
    with pytest.raises(InputError, match="differs from the file of the run"):
        find_files(sources, tmp_path / "run")


def test_a_pattern_above_the_limit_is_kept_by_path_and_digest(project, tmp_path, monkeypatch):
    monkeypatch.setattr(run_sources, "LARGEST_COPY", 3)
    (project / "train-0.jsonl").write_text("long enough")
    sources = record_sources({}, {"data": Path("train-*.jsonl")}, tmp_path / "run")
    elsewhere(project, tmp_path, monkeypatch)
    assert find_files(sources, tmp_path / "run") == {"data": str(project / "train-*.jsonl")}
    (project / "train-1.jsonl").write_text("more")
    with pytest.raises(InputError, match="differs from the file of the run"):
        find_files(sources, tmp_path / "run")


def test_modules_in_the_options_of_a_part_are_kept(project, tmp_path):
    import own_sources  # noqa: F401

    arguments = {"world.parts": {"a": "jsonl --file 'my a.jsonl' --score=own_sources:value"}}
    assert set(record_sources(arguments, {}, tmp_path / "run")["modules"]) == {"own_sources"}


@pytest.fixture
def photos(project):
    """A CSV file that names two images, of which one is named by another row, too."""
    for k, name in enumerate(("a.png", "in/b.png")):
        (project / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / "photos" / name).write_bytes(noise(k).data)
    (project / "photos.csv").write_text("file,question,answer\nphotos/a.png,1?,1\n")
    return ("photos/a.png", "photos/in/b.png")


def with_photos(names, out):
    return json.loads(json.dumps(record_sources({}, {"file": Path("photos.csv")}, out, images={"file": names})))


def test_images_that_a_file_names_are_copied_beside_its_copy(project, photos, tmp_path):
    sources = with_photos(photos, tmp_path / "run")
    assert sources["files"]["file"]["images"]["count"] == 2
    shutil.rmtree(project / "photos")
    (found,) = find_files(sources, tmp_path / "run").values()
    assert Path(found).is_relative_to(tmp_path / "run")
    assert (Path(found).parent / "photos" / "in" / "b.png").read_bytes() == noise(1).data
    (Path(found).parent / "photos" / "a.png").write_bytes(noise(5).data)
    with pytest.raises(InputError, match="photos.csv or one of its images differs from the file of the run"):
        find_files(sources, tmp_path / "run")


def test_images_above_the_limit_are_read_where_they_are(project, photos, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_sources, "LARGEST_COPY", 5000)
    sources = with_photos(photos, tmp_path / "run")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("note: photos.csv and its 2 images are not copied into the run: 0 MB are above the limit")
    assert line.endswith(f"resume, eval and chat read them in {project.resolve()}")
    assert not (tmp_path / "run" / "inputs").exists()
    assert find_files(sources, tmp_path / "run") == {"file": str((project / "photos.csv").resolve())}
    (project / "photos.csv").unlink()
    with pytest.raises(InputError, match="photos.csv is gone, and has no copy"):
        find_files(sources, tmp_path / "run")


def test_other_images_are_another_copy(project, photos, tmp_path):
    first = with_photos(photos, tmp_path / "run")["files"]["file"]
    (project / photos[0]).write_bytes(noise(7).data)
    second = with_photos(photos, tmp_path / "run")["files"]["file"]
    assert first["sha256"] == second["sha256"] and first["copy"] != second["copy"]
