import os
import signal
import time
from pathlib import Path

import pytest

from handaxe.tools.sandbox.launch import await_ready, launch


@pytest.fixture
def worker(spec):
    made = launch(spec)
    await_ready(made, seconds=60)
    yield made
    made.destroy()


def ask(worker, code, seconds=60.0):
    return worker.ask({"op": "run", "code": code}, seconds=seconds)


def process_states(group):
    """Read the states of the processes in a group from /proc."""
    found = set()
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(number)) == group:
                found.add(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0])
        except OSError:
            continue
    return found


def test_answer_has_output_and_value(worker):
    answer = ask(worker, "print('a')\n2 + 3")
    assert answer == ("a\n", "5", False, "", True, 0)
    assert ask(worker, "1/0").failed


def test_stored_output_is_bounded(worker):
    answer = ask(worker, "import os\nwhile True: os.write(1, b'a' * 60000)")
    assert (answer.stop, answer.alive) == ("output", True)
    assert answer.printed == "a" * worker.limits.output
    # Nothing of it is left in the pipe for the next call.
    assert ask(worker, "print('b')").printed == "b\n"


def test_long_answer_is_cut(worker):
    answer = ask(worker, "'x' * 10**6")
    assert answer.alive and len(answer.text) <= worker.limits.output + 3 and "..." in answer.text


TICKING = """
import threading, time
ticks = []
def tick():
    while True:
        ticks.append(time.monotonic())
        time.sleep(0.001)
threading.Thread(target=tick, daemon=True).start()
while len(ticks) < 2:
    time.sleep(0.001)
"""


def test_worker_is_frozen_between_calls(worker):
    ask(worker, TICKING)
    for _ in range(200):
        if process_states(worker.group) == {"T"}:
            break
        time.sleep(0.05)
    assert process_states(worker.group) == {"T"}
    time.sleep(0.3)
    # The thread runs again with the next call, so it ticks after the gap too.
    gaps = ask(worker, "time.sleep(0.05)\nmax(later - tick for tick, later in zip(ticks, ticks[1:]))")
    assert float(gaps.text) >= 0.3


def test_death_has_its_exit_status(worker):
    answer = ask(worker, "import os\nos._exit(7)")
    assert (answer.stop, answer.alive, answer.status) == ("died", False, 7)
    assert not worker.alive and worker.destroy() == 0


def test_uninterruptible_code_is_killed(worker):
    answer = ask(worker, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", seconds=0.2)
    assert (answer.stop, answer.alive) == ("time", False)
    assert answer.status == 128 + signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.killpg(worker.group, 0)


FORGED = """
import os, struct, time
for n in range(3, 9):
    try:
        os.write(n, struct.pack(">I", {length}) + b"z" * 16 + b"0lie")
    except OSError:
        pass
time.sleep(60)
"""


@pytest.mark.parametrize("length", [0, 20, 2**31])
def test_forged_answer_is_a_protocol_error(worker, length):
    answer = ask(worker, FORGED.format(length=length), seconds=30)
    assert (answer.stop, answer.alive, answer.text) == ("protocol", False, "")


def test_too_many_files_kill_the_worker(worker):
    assert not worker.crowded()
    assert ask(worker, "for i in range(10**6): open(str(i), 'w').close()", seconds=20).stop == "files"


def test_unread_request_times_out(worker):
    """More than the socket holds, to a worker that sleeps in native code."""
    ask(worker, "import os, threading, time")
    assert ask(worker, "time.sleep(60)\n" + "#" * 10**6, seconds=0.1).stop == "time"
    os.killpg(worker.group, signal.SIGKILL)
    assert ask(worker, "#" * 10**6).stop == "died"


def test_forked_process_does_not_touch_the_worker(worker):
    child = os.fork()
    if child == 0:
        os._exit(0 if worker.destroy() == 0 and not worker.alive else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert worker.alive and ask(worker, "1").text == "1"


FORKING = """
import os, signal, sys, time
def fork(body):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(body()).encode())
        except OSError as error:
            os.write(write, type(error).__name__.encode())
        os._exit(0)
    os.close(write)
    return child, read
def finish(child, read):
    said = os.read(read, 100).decode()
    os.close(read)
    return said, os.waitpid(child, 0)[1]
"""


@pytest.fixture
def forking(spec):
    """A worker that may have one child."""
    made = launch(spec._replace(limits=spec.limits._replace(threads=0), forks=True))
    await_ready(made, seconds=60)
    ask(made, FORKING)
    yield made
    made.destroy()


def test_a_worker_with_forks_has_one_child_at_a_time(forking):
    assert ask(forking, "finish(*fork(lambda: 6 * 7))").text == "('42', 0)"
    assert ask(forking, "finish(*fork(os.fork))").text == "('BlockingIOError', 0)"
    two = "first = fork(lambda: time.sleep(30))\ntry:\n    fork(int)\nexcept OSError as error:\n    print(error.errno)"
    assert ask(forking, two).printed == "11\n"
    assert ask(forking, "os.kill(first[0], 9); finish(*first)").text == "('', 9)"


def test_a_child_stops_and_ends_with_its_worker(forking):
    assert ask(forking, "child = fork(lambda: time.sleep(60))\n1").text == "1"
    for _ in range(600):
        if (states := process_states(forking.group)) == {"T"}:
            break
        time.sleep(0.05)
    assert states == {"T"}
    forking.destroy()
    assert process_states(forking.group) == set()


def test_a_child_cannot_write_the_memory_of_its_worker(forking):
    text = "fork(lambda: open(f'/proc/{os.getppid()}/mem', 'r+b'))"
    assert ask(forking, f"finish(*{text})").text in ("('PermissionError', 0)", "('OSError', 0)")


def test_a_worker_without_forks_has_no_child(worker):
    assert "PermissionError" in ask(worker, "import os; os.fork()").text
