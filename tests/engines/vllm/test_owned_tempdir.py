"""A temporary folder is removed by its process, or by the next process if that was killed."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from handaxe.engines.vllm.owned_tempdir import OwnedTempdir, remove_stale_dirs

SCRIPT = """
import sys, time
from handaxe.engines.vllm.owned_tempdir import OwnedTempdir
print(OwnedTempdir("held-").path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A private folder for temporary files, also for subprocesses."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def age(folder):
    os.utime(folder, (0, 0))


def test_folder_exists_until_close(tmp_path):
    folder = OwnedTempdir("held-", tmp_path)
    (folder.path / "file").write_text("of the process")
    assert folder.path.parent == tmp_path and folder.path.name.startswith("held-")
    folder.close()
    folder.close()
    assert not list(tmp_path.iterdir())


def test_folders_of_killed_processes_are_removed_and_others_stay(temporary):
    program = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    try:
        other = temporary / os.path.basename(program.stdout.readline().strip())
        age(other)
        first = OwnedTempdir("held-")
        age(first.path)
        assert other.is_dir(), "the folder of a running process stays"
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()
        program.stdout.close()
    second = OwnedTempdir("held-")
    assert set(temporary.iterdir()) == {first.path, second.path}
    first.close()
    second.close()


def test_recent_foreign_and_linked_folders_are_not_removed(tmp_path):
    recent, other, linked = (tmp_path / name for name in ("held-young", "other", "far"))
    for folder in (recent, other, linked):
        folder.mkdir()
    (tmp_path / "held-file").write_text("no folder")
    (tmp_path / "held-link").symlink_to(linked)
    for each in (other, linked, tmp_path / "held-file"):
        age(each)
    remove_stale_dirs(tmp_path, "held-")
    assert {each.name for each in tmp_path.iterdir()} == {"held-young", "other", "far", "held-file", "held-link"}
    age(recent)
    remove_stale_dirs(tmp_path, "held-")
    assert not recent.exists()


def test_given_parent_is_not_cleaned(temporary):
    shared = temporary / "shared"
    stale = shared / "held-left"
    stale.mkdir(parents=True)
    age(stale)
    OwnedTempdir("held-", shared).close()
    assert stale.is_dir(), "a process on another machine may own it"


def test_missing_parent_raises_os_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        OwnedTempdir("held-", tmp_path / "nowhere")
