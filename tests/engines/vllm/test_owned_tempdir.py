"""A folder is removed by its own process, or, where that was killed, by the next one."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from handaxe.engines.vllm.owned_tempdir import OwnedTempdir, clear_left

SCRIPT = """
import sys, time
from handaxe.engines.vllm.owned_tempdir import HeldFolder
print(HeldFolder("held-").path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files that no one else uses, also of programs that a test starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def age(folder):
    os.utime(folder, (0, 0))


def test_it_is_there_until_it_is_closed(tmp_path):
    folder = OwnedTempdir("held-", tmp_path)
    (folder.path / "file").write_text("of the process")
    assert folder.path.parent == tmp_path and folder.path.name.startswith("held-")
    folder.close()
    folder.close()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_runs_keeps_its_own(temporary):
    program = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    try:
        theirs = temporary / os.path.basename(program.stdout.readline().strip())
        age(theirs)
        first = OwnedTempdir("held-")
        age(first.path)
        assert theirs.is_dir(), "its process runs"
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()
        program.stdout.close()
    second = OwnedTempdir("held-")
    assert set(temporary.iterdir()) == {first.path, second.path}
    first.close()
    second.close()


def test_young_ones_those_of_others_and_what_is_no_folder_are_left_alone(tmp_path):
    young, other, far = (tmp_path / name for name in ("held-young", "other", "far"))
    for folder in (young, other, far):
        folder.mkdir()
    (tmp_path / "held-file").write_text("no folder")
    (tmp_path / "held-link").symlink_to(far)
    for each in (other, far, tmp_path / "held-file"):
        age(each)
    clear_left(tmp_path, "held-")
    assert {each.name for each in tmp_path.iterdir()} == {"held-young", "other", "far", "held-file", "held-link"}
    age(young)
    clear_left(tmp_path, "held-")
    assert not young.exists()


def test_one_that_is_given_a_place_looks_at_no_other(temporary):
    shared = temporary / "shared"
    left = shared / "held-left"
    left.mkdir(parents=True)
    age(left)
    OwnedTempdir("held-", shared).close()
    assert left.is_dir(), "a process of another machine may hold it"


def test_a_place_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        OwnedTempdir("held-", tmp_path / "nowhere")
