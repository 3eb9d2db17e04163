import os
import subprocess
import sys
from pathlib import Path

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.testing import check_tool
from handaxe.testing.tools import check_no_leak
from handaxe.tools.cpython import cpython
from handaxe.tools.python import python
from handaxe.tools.sandbox.check_sandbox import check_sandbox
from handaxe.tools.sandbox.command import host_user_id
from handaxe.tools.sandbox.limits import Limits

SMALL = Limits(seconds=60.0, memory=2**28, disk=2**18, threads=4, output=2**16)


pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.fixture
def make():
    """Make sessions, closed at the end."""
    made = []

    def session(*, packages=(), limits=SMALL, files=None, outputs=(), preload=(), max_chars=4_000):
        tool = cpython(
            limits=limits, packages=packages, files=files, outputs=outputs, preload=preload, max_chars=max_chars, warm=1
        )
        made.append(tool)
        return tool

    yield session
    for tool in made:
        tool.owner.close()


def run(session, code, seed=0):
    reply = session.run(ToolCall("python", {"code": code}, "c0"), seed=seed)
    return reply.status, reply.content


def test_names_stay_between_calls(make):
    session = make(packages=("numpy",))
    assert session("import numpy as np\nx = np.arange(4)") == ""
    assert session("int(x.sum())") == "6"


@pytest.mark.slow
def test_numpy_sympy_and_pandas_are_available(make):
    session = make(packages=("numpy", "sympy", "pandas"), limits=SMALL._replace(memory=2**30))
    code = "import numpy as np, sympy, pandas as pd\nx = sympy.Symbol('x')\n"
    code += "print(np.linalg.solve(np.eye(2), [1, 2]), sympy.integrate(2 * x, x))\npd.DataFrame({'a': [1, 2]}).a.sum()"
    assert run(session, code) == ("ok", "[1. 2.] x**2\nnp.int64(3)")


ORDINARY = {
    "a database of two connections": """
import sqlite3
one, two = sqlite3.connect("d.db", timeout=0), sqlite3.connect("d.db", timeout=0)
one.execute("create table t (a)"), one.execute("insert into t values (1)"), one.commit()
one.execute("begin immediate")
try:
    two.execute("begin immediate")
except sqlite3.OperationalError as error:
    print(error)
two.execute("select a from t").fetchall()
""",
    "tasks and a pair of sockets": """
import asyncio, socket
async def talk():
    a, b = socket.socketpair()
    (reader, kept), (held, writer) = await asyncio.open_connection(sock=a), await asyncio.open_connection(sock=b)
    writer.write(b"hello" * 1000)
    await writer.drain()
    return len(await asyncio.wait_for(reader.readexactly(5000), 9))
asyncio.run(talk())
""",
    "POSIX locks, flags and temporary files": """
import fcntl, os, tempfile
with tempfile.NamedTemporaryFile("w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND | os.O_NONBLOCK)
    os.set_inheritable(file.fileno(), True)
os.isatty(1), 1
""",
    "threads that wait for each other": """
import concurrent.futures, queue
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    print(sum(pool.map(len, ["a", "bb"])))
""",
}
SHOWN = ["database is locked\n[(1,)]", "5000", "(False, 1)", "3"]


@pytest.mark.parametrize(("code", "shown"), zip(ORDINARY.values(), SHOWN), ids=ORDINARY)
def test_ordinary_programs_pass_the_syscall_filter(make, code, shown):
    assert run(make(), code) == ("ok", shown)


def test_file_locks_are_unavailable(make):
    """HDF5 and filelock expect this error of a file system without locks."""
    status, text = run(make(), "import fcntl\nfcntl.flock(open('a', 'w'), fcntl.LOCK_EX)")
    assert status == "retry" and text.endswith("OSError: [Errno 38] Function not implemented")


def test_session_cannot_exhaust_per_user_limits(make):
    """Descriptors in transit, pending signals and queues are counted for all processes of a user."""
    hostile = make()
    run(hostile, "import array, socket\na, b = socket.socketpair()")
    status, text = run(hostile, "a.sendmsg([b'x'], [(1, 1, array.array('i', [b.fileno()] * 250))])")
    assert status == "retry" and "PermissionError" in text
    signals = "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [36])\n"
    run(hostile, signals + "for _ in range(20_000):\n    os.kill(os.getpid(), 36)")
    assert [run(make(), "1 + 1") for _ in range(3)] == [("ok", "2")] * 3
    waiting = "[line.split()[1] for line in open('/proc/self/status') if line.startswith('SigQ')][0]"
    assert run(hostile, waiting) == ("ok", "'64/64'")
    assert run(make(), waiting)[1].startswith("'0/")


def test_schema_equals_that_of_python(make):
    session = make()
    assert session.schema.name == "python"
    assert session.schema.parameters["properties"] == {"code": {"type": "string", "description": "the program"}}
    assert check_tool(session, arguments={"code": "1 + 1"}).content == "2"


def test_state_survives_errors(make):
    session = make()
    run(session, "def f(a):\n    return a + len(items)\nitems = [1]")
    status, text = run(session, "print('before')\nitems.append(3)\n1/0")
    assert status == "retry"
    assert text.startswith("before\nTraceback") and text.endswith("ZeroDivisionError: division by zero")
    assert run(session, "f(1)") == ("ok", "3")


def test_reply_has_output_then_value_or_error(make):
    session = make(max_chars=200)
    shown = {
        "'a'": "'a'",
        "None": "",
        "x = 3": "",
        "print('a\\n')": "a\n",
        "print(1); 2": "1\n2",
        "import sys; sys.stderr.write('e\\n'); 3": "e\n3",
        "import os; os.write(1, b'n'); None": "n",
    }
    assert {code: run(session, code)[1] for code in shown} == shown
    status, text = run(session, "print('a' * 10**4)")
    assert status == "ok" and len(text) <= 200 and "characters cut" in text


def test_interrupted_call_keeps_names(make):
    session = make(limits=SMALL._replace(seconds=0.3))
    run(session, "x = 1")
    status, text = run(session, "print('begun')\nx = 2\nwhile True: pass")
    assert status == "retry" and text.startswith("begun\n") and "more than 0.3 seconds" in text
    assert text.endswith("names set so far are kept.")
    assert run(session, "x") == ("ok", "2")


def test_killed_session_restarts_with_its_files(make):
    session = make(files={"data/a.txt": "one", "b": b"\xff"}, outputs=("data/a.txt",))
    run(session, "x = 1\nopen('data/a.txt', 'w').write('two')\nopen('new', 'w').close()")
    assert session.owner.report() == {"restarts": 0, "files": {"data/a.txt": "two"}}
    status, text = run(session, "import os\nprint('last words')\nos._exit(3)")
    assert status == "retry" and text.startswith("last words\n") and "exit status 3" in text
    assert text.endswith("files are as at the beginning.")
    assert session.owner.report() == {"restarts": 1, "files": {"data/a.txt": "one"}}
    assert "NameError" in run(session, "x")[1]
    assert run(session, "import os\nopen('data/a.txt').read(), open('b', 'rb').read(), sorted(os.listdir())") == (
        "ok",
        "('one', b'\\xff', ['b', 'data'])",
    )


def test_processor_limit_kills_the_session(make):
    session = make(limits=SMALL._replace(cpu=1, seconds=300.0))
    status, text = run(session, "while True: pass")
    assert status == "retry" and "limit on processor time is 1 seconds" in text
    assert run(session, "1") == ("ok", "1")


def test_memory_limit_raises_memory_error(make):
    session = make()
    assert "MemoryError" in run(session, "x = 1\ny = bytearray(2**29)")[1]
    assert run(session, "x") == ("ok", "1")


def test_read_follows_no_link(make):
    session = make(outputs=("plain", "link", "folder", "raw", "none", "inside/x"))
    run(
        session,
        "import os\nopen('plain', 'w').write('text')\nos.symlink('/etc/hostname', 'link')\nos.mkdir('folder')\n"
        "open('raw', 'wb').write(b'\\xff')\nos.symlink('folder', 'inside')\n"
        "open('folder/x', 'w').write('x')\nopen('big', 'w').write('a' * 5000)",
    )
    files = dict.fromkeys(("plain", "link", "folder", "raw", "none", "inside/x"))
    assert session.owner.report()["files"] == {**files, "plain": "text"}
    assert session.owner.read("folder/x") == b"x" and session.owner.read("raw") == b"\xff"
    with pytest.raises(InputError, match="more than 4999 bytes"):
        session.owner.read("big", limit=4999)
    assert len(session.owner.read("big", limit=5000)) == 5000


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../b", "", ".", "a//b", "./a", "a\0b", "a" * 300])
def test_paths_outside_the_folder_raise(make, name):
    with pytest.raises(InputError, match="no path of a file"):
        make(files={name: "x"})
    with pytest.raises(InputError, match="no path of a file"):
        make(outputs=(name,))
    with pytest.raises(InputError, match="no path of a file"):
        make().owner.read(name)


def test_random_numbers_follow_the_seed(make):
    code = "import random\n(random.random(), hash('a'))"
    first = run(make(), code, seed=5)
    assert first == run(make(), code, seed=5)
    assert first != run(make(), code, seed=6)
    code = "import numpy\nfloat(numpy.random.rand())"
    assert len({run(make(packages=("numpy",), preload=("numpy",)), code, seed=7) for _ in range(2)}) == 1


def test_state_does_not_leak_between_rollouts():
    factory = tool_chat([lambda: cpython(limits=SMALL, packages=(), warm=1)])
    task = Task("t", (Message("user", "go"),), "")

    def turn(code):
        return ParsedTurn("", (ToolCall("python", {"code": code}, "c0"),))

    show = "import os, builtins\n(globals().get('x'), os.listdir('.'), getattr(builtins, 'x', None))"
    write = "import builtins\nx = builtins.x = {0!r}\nopen({0!r}, 'w').close()"
    check_no_leak(factory, task, write=lambda nonce: turn(write.format(nonce)), read=turn(show))


def test_session_starts_with_its_first_call(make):
    session = make(files={"a": "b"})
    assert session.owner._worker is None and session.owner.read("a") == b"b"


def test_unreferenced_session_is_destroyed():
    session = cpython(limits=SMALL, packages=(), warm=1)
    run(session, "1")
    worker = session.owner._worker
    assert worker.alive
    del session
    assert not worker.alive


def test_snapshot_and_restore_raise_and_name_python(make):
    with pytest.raises(InputError, match=r"handaxe\.tools\.python"):
        make().owner.snapshot()
    with pytest.raises(InputError, match=r"handaxe\.tools\.python"):
        make().owner.restore(None)


def test_closed_session_fails(make):
    session = make()
    run(session, "1")
    worker = session.owner._worker
    session.owner.close()
    session.owner.close()
    assert not worker.alive and run(session, "1")[0] == "infra_error"


def test_worker_dead_before_setup_is_infra_error(make):
    session = make(preload=("no_such_module",))
    status, text = run(session, "1")
    assert status == "infra_error" and "no_such_module" in text


def test_invalid_arguments_raise(make):
    with pytest.raises(InputError, match="lists of names"):
        make(packages="numpy")
    with pytest.raises(InputError, match="raise limits.disk"):
        make(files={"a": b"x" * 2**18})
    with pytest.raises(InputError, match="not installed"):
        make(packages=("no-such-package",))
    with pytest.raises(InputError, match="seconds"):
        make(limits=Limits(seconds=-1))
    status, text = run(make(), "x = 1\n" * 20_000)
    assert status == "retry" and "limit is 50000" in text


def test_missing_bubblewrap_raises(monkeypatch, tmp_path):
    check_sandbox.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install bubblewrap"):
        cpython(packages=())
    check_sandbox.cache_clear()


def test_missing_bubblewrap_uses_the_fallback_with_a_warning(monkeypatch, tmp_path):
    check_sandbox.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.warns(RuntimeWarning, match="apt-get install bubblewrap(.|\n)*Using the fallback .*python"):
        made = cpython(packages=(), fallback=python, prefix="old_", max_chars=300)
    check_sandbox.cache_clear()
    assert made.schema.name == "old_python" and made.max_chars == 300
    assert made.run(ToolCall("old_python", {"code": "6 * 7"}, "c0")).content == "42"
    assert "PermissionError" in made.run(ToolCall("old_python", {"code": "open('/etc/passwd')"}, "c1")).content


@pytest.mark.skipif(
    host_user_id() is None or not Path("/usr/bin/python3").exists(), reason="needs root and a system Python"
)
def test_unprivileged_user_has_the_same_sandbox():
    """In a process without root, with an interpreter that nobody may read."""
    code = (
        "import os\n"
        "from handaxe.tools.cpython import cpython\n"
        "from handaxe.tools.sandbox.limits import Limits\n"
        "from handaxe.core.records import ToolCall\n"
        "import json, encodings.idna\n"
        "os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n"
        "tool = cpython(interpreter='/usr/bin/python3', packages=(), limits=Limits(threads=3, seconds=60.0))\n"
        "program = '''import threading, time, os\n"
        "n = 0\n"
        "try:\n"
        "    while n < 50:\n"
        "        threading.Thread(target=time.sleep, args=(3,), daemon=True).start()\n"
        "        n += 1\n"
        "except RuntimeError:\n"
        "    pass\n"
        "n, os.getuid(), os.path.exists('/home'), os.access('/', os.W_OK)'''\n"
        "print(tool.run(ToolCall('python', {'code': program})).content)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "HOME": "/"})
    assert done.stdout.strip() == "(3, 65534, False, False)", done.stderr
