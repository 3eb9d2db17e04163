import fcntl
import subprocess
import sys

from handaxe.ops.process_lock import process_lock

HOLD = """
import sys
from pathlib import Path
from handaxe.ops.process_lock import process_lock
with process_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
    Path(sys.argv[2]).write_text("first")
"""


def start(lock, out):
    words = [sys.executable, "-c", HOLD, str(lock), str(out)]
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_process_waits_until_another_has_left_the_lock(tmp_path):
    lock, out = tmp_path / "lock", tmp_path / "out"
    with start(lock, out) as holder:
        holder.stdin.close()
        with process_lock(lock):
            assert out.read_text() == "first"


def test_a_dead_process_holds_no_lock(tmp_path):
    with start(tmp_path / "lock", tmp_path / "out") as holder:
        holder.kill()
        with process_lock(tmp_path / "lock"):
            assert not (tmp_path / "out").exists()


def test_without_locks_of_the_file_system_the_context_is_entered_unlocked(tmp_path, monkeypatch):
    """A file system without locks cannot be had here, so that its error is made."""

    def fail(file, kind):
        raise OSError("no locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    with process_lock(tmp_path / "lock") as locked:
        assert locked is False
    monkeypatch.undo()
    with process_lock(tmp_path / "lock") as locked:
        assert locked is True
