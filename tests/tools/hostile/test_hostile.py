"""Containment of hostile programs in both sandboxes."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handaxe.core.records import ToolCall
from handaxe.tools.cpython import cpython
from handaxe.tools.python import python
from handaxe.tools.sandbox.limits import Limits

_spec = importlib.util.spec_from_file_location("hostile_suite", Path(__file__).with_name("suite.py"))
suite = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(suite)
PROGRAMS = suite.programs()
IDS = [f"{one.family}-{one.name}".replace(" ", "_") for one in PROGRAMS]
LIMITS = Limits(seconds=3.0, cpu=8, memory=160 * 2**20, disk=2**20, open_files=40, threads=4, output=2**18)
NONCE = "nonce-7c41aa0e95"
MAX_CHARS = 3_000
OUTPUTS = ("answer.txt", "folder/canary.txt")
"""Files that are read back after every program; one of them makes links of these."""
# An ordinary program in a new session finds nothing of an earlier session.
GOOD = """
import json, math, os, sys
found = [name for name in ("poison",) if name in globals() or hasattr(__builtins__, name)]
print(len([1, 2, 3]), json.loads("[4]"), math.isqrt(25), os.listdir("."), found, sys.gettrace(), sys.getprofile())
6 * 7
"""
ANSWER = "3 [4] 5 [] [] None None\n42"


def session(seconds=LIMITS.seconds):
    return cpython(limits=LIMITS._replace(seconds=seconds), packages=(), outputs=OUTPUTS, warm=2, max_chars=MAX_CHARS)


def run(tool, code):
    reply = tool.run(ToolCall("python", {"code": code}, "c0"), seed=3)
    return reply.status, reply.content


def run_patiently(tool, code):
    """Run an ordinary program with time for a busy machine."""
    answer = tool.owner._get_worker(3).ask({"op": "run", "code": code}, seconds=60)
    assert (answer.stop, answer.failed) == ("", False)
    return answer.printed + answer.text


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Files, processes and sockets on the host: targets of the programs."""
    canary = tmp_path_factory.mktemp("host") / "canary.txt"
    canary.write_text(NONCE)
    os.environ["HANDAXE_CANARY"] = NONCE
    tcp, abstract = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
    name = f"handaxe-{os.getpid()}"
    abstract.bind(f"\0{name}")
    abstract.listen()
    # As the user that the sandbox is outside, so that only the namespaces protect it.
    user = 65534 if os.geteuid() == 0 else None
    victim = subprocess.Popen(["/bin/sleep", "1000"], user=user, cwd="/")
    targets = {
        "CANARY": canary,
        "NONCE": NONCE,
        "PORT": tcp.getsockname()[1],
        "ABSTRACT": name,
        "PID": victim.pid,
    }
    tcp.setblocking(False)
    abstract.setblocking(False)

    def unharmed():
        assert canary.read_text() == NONCE and canary.stat().st_nlink == 1
        assert victim.poll() is None
        assert Path(f"/proc/{victim.pid}/stat").read_text().split()[2] == "S"
        for listener in (tcp, abstract):
            with pytest.raises(BlockingIOError):
                listener.accept()

    yield targets, unharmed
    del os.environ["HANDAXE_CANARY"]
    victim.kill()
    victim.wait()
    tcp.close()
    abstract.close()


def is_unchanged(content):
    assert "ESCAPED" not in content and NONCE not in content
    assert len(content) <= MAX_CHARS


def has_ended(group):
    """Test whether all processes of a sandbox have exited; the kernel may need a moment."""
    for _ in range(200):
        # The first process dies last of its namespace; whoever buries it may take his time.
        try:
            if Path(f"/proc/{group}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_programs_are_many_and_have_unique_names():
    assert len(PROGRAMS) >= 80 and len(set(IDS)) == len(IDS)
    assert all(text for program in PROGRAMS for text in program.holds), "every reply holds the empty text"


# --- CPython under bubblewrap --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bystander(sandbox):
    """Another rollout's session, open all the time."""
    tool = session()
    assert run_patiently(tool, "mine = ['a']\nopen('mine.txt', 'w').write('b')") == "1"
    worker = tool.owner._worker
    yield tool
    assert tool.owner._worker is worker, "it was started again"
    tool.owner.close()


@pytest.mark.parametrize("program", PROGRAMS, ids=IDS)
def test_hostile_program_leaves_cpython_and_the_host_unharmed(program, host, bystander):
    targets, unharmed = host
    tool = session(0.7 if program.endless else LIMITS.seconds)
    # A new session, after whatever the program before this one did to its own.
    assert run_patiently(tool, GOOD) == ANSWER
    groups = [tool.owner._worker.group]
    status, content = run(tool, program.aimed(targets))
    is_unchanged(content)
    assert status in ("ok", "retry"), "an attack must never count as a failure of the machinery"
    assert any(text in content for text in program.holds), content
    assert tool.owner.report()["files"] == dict.fromkeys(OUTPUTS)
    # Whatever is left of its session answers, or starts again.
    status, content = run(tool, "1 + 1")
    is_unchanged(content)
    assert status in ("ok", "retry")
    groups += [tool.owner._worker.group] if tool.owner._worker else []
    tool.owner.close()
    assert all(has_ended(group) for group in groups)
    unharmed()
    assert run_patiently(bystander, "mine.append(open('mine.txt').read()) or mine.pop()") == "'b'"


def test_cpython_works_after_all_programs(bystander):
    tool = session()
    assert run_patiently(tool, GOOD) == ANSWER
    tool.owner.close()


# --- the embedded one ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def neighbour():
    tool = python(seconds=0.5, memory=2**24, max_chars=MAX_CHARS)
    assert run(tool, "mine = ['a']") == ("ok", "")
    return tool


@pytest.mark.parametrize("program", PROGRAMS, ids=IDS)
def test_hostile_program_leaves_python_and_the_host_unharmed(program, host, neighbour):
    targets, unharmed = host
    tool = python(seconds=0.5, memory=2**24, max_chars=MAX_CHARS)
    status, content = run(tool, program.aimed(targets))
    is_unchanged(content)
    assert status in ("ok", "retry"), content
    assert run(tool, "1 + 1") == ("ok", "2")
    tool.owner.close()
    unharmed()
    assert run(neighbour, "mine") == ("ok", "['a']")
    assert run(python(), "print('hi')\n6 * 7") == ("ok", "hi\n42")


def test_suite_leaves_no_sandbox_behind(sandbox):
    """Runs in a separate process, whose end must end all sandboxes."""
    code = (
        "from handaxe.tools.cpython import cpython\n"
        "import os, signal\n"
        "tool = cpython(packages=(), warm=3)\n"
        "tool('import threading, time; threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()')\n"
        "print(tool.owner._worker.group, flush=True)\n"
        "{end}"
    )
    for end in ("", "os.kill(os.getpid(), signal.SIGKILL)"):
        done = subprocess.run([sys.executable, "-c", code.format(end=end)], capture_output=True, text=True)
        group = int(done.stdout)
        assert has_ended(group), f"the sandbox outlived its host ({end or 'a normal end'})"
