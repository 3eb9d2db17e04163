import os
import signal
import subprocess
import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.training.record import folder
from handaxe.training.record.folder import FolderLock, write_atomic

HOLD = """
import sys, time
from pathlib import Path
from handaxe.training.record.folder import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(1000)
"""


def test_one_writer_at_a_time_and_none_that_is_dead(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    with pytest.raises(InputError, match=f"process {other.pid} is writing the run in {tmp_path}: wait"):
        FolderLock(tmp_path)
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()
    assert (tmp_path / "writer.lock").read_text() == str(other.pid)  # what it left is no lock
    with FolderLock(tmp_path), pytest.raises(InputError, match=f"process {os.getpid()} is writing"):
        FolderLock(tmp_path)
    FolderLock(tmp_path).close()


def test_where_the_file_system_knows_no_locks_nothing_is_locked(tmp_path, monkeypatch):
    class Unlocked:
        LOCK_EX = LOCK_NB = 0

        def flock(self, file, how):
            raise OSError(38, "Function not implemented")

    monkeypatch.setattr(folder, "fcntl", Unlocked())
    with FolderLock(tmp_path), FolderLock(tmp_path):
        pass


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    write_atomic(file, "first")
    monkeypatch.setattr(folder.os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        write_atomic(file, "second, which is longer")
    assert file.read_text() == "first"
