"""Server processes: options, environment, log, and the end of all child processes."""

import ast
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.vllm import watchdog
from handaxe.engines.vllm.server_process import PYTHON, ServerProcess, free_port, server_options

psutil = pytest.importorskip("psutil")
FAKE = """#!/bin/sh
# A fake python with vLLM: runs the watchdog with the real python, else acts as a server with a child process.
case "$1" in *watchdog.py) shift; exec "{python}" "{watch}" "$@";; esac
echo "started with $@"; echo "DEV $VLLM_SERVER_DEV_MODE OWN $OWN"
sleep 300 & sleep 300
"""


@pytest.fixture
def python(tmp_path):
    file = tmp_path / "python"
    file.write_text(FAKE.format(python=sys.executable, watch=watchdog.__file__))
    file.chmod(0o755)
    return str(file)


def process_tree(server, count):
    """The watchdog and its child processes; waits until there are `count`."""
    found, deadline = [], time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline, server.tail()
        parent = psutil.Process(server.pid)
        found = [parent, *parent.children(recursive=True)]
        time.sleep(0.01)
    return found


@pytest.mark.slow
def test_server_starts_with_options_and_stops_with_all_processes(python, tmp_path):
    server = ServerProcess(tmp_path, server_options(max_length=64), python=python, environment={"OWN": "7"})
    found = process_tree(server, 4)
    while "OWN" not in server.tail():
        time.sleep(0.01)
    log = server.tail()
    for word in ("--model", str(tmp_path), "--load-format dummy", "handaxe.engines.vllm.plugin:HandaxeDraws"):
        assert word in log
    assert "--max-model-len 64" in log and "DEV 1 OWN 7" in log
    assert server.url.startswith("http://127.0.0.1:") and server.alive()
    server.stop()
    server.stop()
    assert not psutil.wait_procs(found, timeout=10)[1] and not server.alive() and server.tail() == ""


LOG = """(Worker pid=2) ERROR 11-23 04:55:21 [executor.py:1063] Traceback (most recent call last):
(Worker pid=2) ERROR 11-23 04:55:21 [executor.py:1063] RuntimeError: no compiler of C++
{}
RuntimeError: Engine core initialization failed. See root cause above.
"""


@pytest.mark.parametrize("filler", [10, 4000])
def test_tail_contains_the_first_error(tmp_path, filler):
    """The last lines of vLLM's log do not contain the cause."""
    file = tmp_path / "python"
    file.write_text(f"#!{sys.executable}\nprint({LOG.format('x' * filler)!r}, flush=True)\n")
    file.chmod(0o755)
    server = ServerProcess(tmp_path, server_options(), python=str(file))
    while server.alive():
        time.sleep(0.01)
    tail = server.tail()
    server.stop()
    assert tail.count("RuntimeError: no compiler of C++") == 1 and tail.rstrip().endswith("See root cause above.")
    assert tail.startswith("RuntimeError: no compiler") == (filler > 3000)


@pytest.mark.slow
def test_server_ends_with_a_killed_program(python, tmp_path):
    code = f"""
import sys, time
from pathlib import Path
from handaxe.engines.vllm.server_process import ServerProcess
server = ServerProcess(Path({str(tmp_path)!r}), [], python={python!r})
print(server.pid, flush=True)
time.sleep(300)
"""
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ})
    parent = psutil.Process(int(program.stdout.readline()))
    while len(parent.children(recursive=True)) < 3:
        time.sleep(0.01)
    found = [parent, *parent.children(recursive=True)]
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    assert not psutil.wait_procs(found, timeout=10)[1]


@pytest.mark.slow
def test_child_processes_end_with_the_server(python, tmp_path):
    server = ServerProcess(tmp_path, [], python=python)
    found = process_tree(server, 4)
    found[1].kill()  # the server; its child processes would keep running
    assert not psutil.wait_procs(found, timeout=10)[1]
    assert not server.alive()
    server.stop()


def test_missing_interpreter_raises_input_error(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=f"cannot start a vLLM server with /nowhere/python.*{PYTHON}"):
        ServerProcess(tmp_path, [], python="/nowhere/python")
    monkeypatch.setenv(PYTHON, "/nowhere/else")
    with pytest.raises(InputError, match="/nowhere/else"):
        ServerProcess(tmp_path, [])


def test_server_of_a_vision_model_has_a_tokenizer_and_fetches_nothing():  # trap 28
    options = server_options(images=5)
    assert "--enable-scale-out" in options and not {"--tokens-only", "--skip-tokenizer-init"} & set(options)
    limits = options[options.index("--limit-mm-per-prompt") + 1]
    assert json.loads(limits) == {"image": 5, "video": 0}
    assert options[options.index("--allowed-media-domains") + 1].endswith(".invalid"), "an empty list allows all"
    assert set(server_options()) - set(options) == {"--tokens-only", "--skip-tokenizer-init"}


def test_server_options_and_free_port():
    assert '{"backend": "nccl"}' in server_options(backend="nccl") and "--max-model-len" not in server_options()
    assert 1024 < free_port() < 65536


def test_command_in_the_cluster_guide_has_every_option():
    page = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
    (block,) = (part for part in page.split("\n\n") if "vllm.entrypoints.openai.api_server" in part)
    words = shlex.split(block)
    assert set(server_options()) <= set(words)
    assert {"VLLM_SERVER_DEV_MODE=1", "VLLM_USE_V2_MODEL_RUNNER=0", "VLLM_PLUGINS=handaxe"} <= set(words)


def test_plugin_of_pyproject_and_logits_processor_of_the_options_exist():
    """vLLM imports both by name; it is not installed here, so that the modules are parsed."""
    root = Path(__file__).parents[3]
    points = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["vllm.general_plugins"]
    options = server_options()
    for target in (*points.values(), options[options.index("--logits-processors") + 1]):
        module, _, name = target.partition(":")
        tree = ast.parse((root / module.replace(".", "/")).with_suffix(".py").read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}, target
