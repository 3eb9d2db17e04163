"""A server's process: started with what it needs, ended with all that it started, however this program ends."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.vllm import watchdog as vllm_watch
from handaxe.engines.vllm.process import PYTHON, ServerProcess, free_port, server_options

psutil = pytest.importorskip("psutil")
FAKE = """#!/bin/sh
# Stands for a python that has vLLM: run with the watcher it is the real one, else it is a server with a child.
case "$1" in *vllm_watch.py) shift; exec "{python}" "{watch}" "$@";; esac
echo "started with $@"; echo "DEV $VLLM_SERVER_DEV_MODE OWN $OWN"
sleep 300 & sleep 300
"""


@pytest.fixture
def python(tmp_path):
    file = tmp_path / "python"
    file.write_text(FAKE.format(python=sys.executable, watch=vllm_watch.__file__))
    file.chmod(0o755)
    return str(file)


def family(server, count):
    """The watcher and all below it, once there are as many."""
    found, deadline = [], time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline, server.tail()
        watcher = psutil.Process(server.pid)
        found = [watcher, *watcher.children(recursive=True)]
        time.sleep(0.01)
    return found


def test_it_is_started_with_what_it_needs_and_stopped_whole(python, tmp_path):
    server = ServerProcess(tmp_path, server_options(max_length=64), python=python, environment={"OWN": "7"})
    found = family(server, 4)
    while "OWN" not in server.tail():
        time.sleep(0.01)
    said = server.tail()
    for word in ("--model", str(tmp_path), "--load-format dummy", "handaxe.engines.vllm.plugin:HandaxeDraws"):
        assert word in said
    assert "--max-model-len 64" in said and "DEV 1 OWN 7" in said
    assert server.url.startswith("http://127.0.0.1:") and server.alive()
    server.stop()
    server.stop()
    assert not psutil.wait_procs(found, timeout=10)[1] and not server.alive() and server.tail() == ""


LOG = """(Worker pid=2) ERROR 11-23 04:55:21 [executor.py:1063] Traceback (most recent call last):
(Worker pid=2) ERROR 11-23 04:55:21 [executor.py:1063] RuntimeError: no compiler of C++
{}
RuntimeError: Engine core initialization failed. See root cause above.
"""


@pytest.mark.parametrize("between", [10, 4000])
def test_the_first_error_is_told_however_much_follows_it(tmp_path, between):
    """What vLLM ends with says only that there was an error."""
    file = tmp_path / "python"
    file.write_text(f"#!{sys.executable}\nprint({LOG.format('x' * between)!r}, flush=True)\n")
    file.chmod(0o755)
    server = ServerProcess(tmp_path, server_options(), python=str(file))
    while server.alive():
        time.sleep(0.01)
    said = server.tail()
    server.stop()
    assert said.count("RuntimeError: no compiler of C++") == 1 and said.rstrip().endswith("See root cause above.")
    assert said.startswith("RuntimeError: no compiler") == (between > 3000)


def test_it_ends_when_this_program_is_killed(python, tmp_path):
    code = f"""
import sys, time
from pathlib import Path
from handaxe.engines.vllm.process import ServerProcess
server = ServerProcess(Path({str(tmp_path)!r}), [], python={python!r})
print(server.pid, flush=True)
time.sleep(300)
"""
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ})
    watcher = psutil.Process(int(program.stdout.readline()))
    while len(watcher.children(recursive=True)) < 3:
        time.sleep(0.01)
    found = [watcher, *watcher.children(recursive=True)]
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    assert not psutil.wait_procs(found, timeout=10)[1]


def test_what_a_server_leaves_ends_with_it(python, tmp_path):
    server = ServerProcess(tmp_path, [], python=python)
    found = family(server, 4)
    found[1].kill()  # the server itself; its children would live on
    assert not psutil.wait_procs(found, timeout=10)[1]
    assert not server.alive()
    server.stop()


def test_an_interpreter_that_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=f"no vLLM server can be started with /nowhere/python.*{PYTHON}"):
        ServerProcess(tmp_path, [], python="/nowhere/python")
    monkeypatch.setenv(PYTHON, "/nowhere/else")
    with pytest.raises(InputError, match="/nowhere/else"):
        ServerProcess(tmp_path, [])


def test_options_and_ports():
    assert '{"backend": "nccl"}' in server_options(backend="nccl") and "--max-model-len" not in server_options()
    assert 1024 < free_port() < 65536


def test_the_command_on_the_page_about_clusters_has_every_option():
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    (block,) = (part for part in page.split("\n\n") if "vllm.entrypoints.openai.api_server" in part)
    words = shlex.split(block)
    assert set(server_options()) <= set(words)
    assert {"VLLM_SERVER_DEV_MODE=1", "VLLM_USE_V2_MODEL_RUNNER=0", "VLLM_PLUGINS=handaxe"} <= set(words)
