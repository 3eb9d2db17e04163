import json
import os

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.tools.sandbox.command import host_user_id
from handaxe.tools.sandbox.launch import await_ready, launch


def descriptors():
    return set(os.listdir("/proc/self/fd"))


def test_destroyed_worker_leaves_no_descriptor(spec):
    before = descriptors()
    worker = launch(spec)
    assert not worker.alive
    await_ready(worker, seconds=60)
    assert worker.alive
    worker.destroy()
    assert descriptors() == before


LIMITED = """
import resource
[resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in NAMES]
"""


def test_limits_are_set_and_cannot_be_raised(spec):
    names = ("AS", "CPU", "FSIZE", "NOFILE", "NPROC", "STACK", "CORE", "MEMLOCK", "MSGQUEUE", "SIGPENDING")
    worker = launch(spec)
    await_ready(worker, seconds=60)
    shown = worker.ask({"op": "run", "code": f"NAMES = {names}{LIMITED}"}, seconds=10.0)
    worker.destroy()
    pairs = json.loads(shown.text.translate(str.maketrans("()", "[]")))
    assert all(soft == hard for soft, hard in pairs)
    found, limits = {name: soft for name, (soft, _) in zip(names, pairs)}, spec.limits
    # The worker counts itself, and the process before it where both are the same user.
    assert found["NPROC"] == limits.threads + (2 if host_user_id() is None else 1)
    assert limits.cpu < found["CPU"] < limits.cpu + 60
    assert limits.memory < found["AS"] < limits.memory + 2**29
    assert (found["FSIZE"], found["NOFILE"], found["STACK"]) == (limits.disk, limits.open_files, 8 * 2**20)
    assert (found["CORE"], found["MEMLOCK"], found["MSGQUEUE"], found["SIGPENDING"]) == (1, 0, 0, 64)


def test_failed_launch_leaves_no_descriptor(spec, monkeypatch, tmp_path):
    before = descriptors()
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'no namespaces today'\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InfrastructureError, match="no namespaces today"):
        launch(spec)
    assert descriptors() == before


def test_missing_preload_module_is_named(spec):
    before = descriptors()
    worker = launch(spec._replace(preload=("no_such_module",)))
    with pytest.raises(InfrastructureError, match="no_such_module"):
        await_ready(worker, seconds=60)
    assert descriptors() == before


def test_message_of_bubblewrap_is_shown(spec):
    before = descriptors()
    wrong = spec.layout._replace(mounts=(*spec.layout.mounts, ("/no/such/folder", "/x")))
    with pytest.raises(InfrastructureError, match="no/such/folder"):
        await_ready(launch(spec._replace(layout=wrong)), seconds=60)
    assert descriptors() == before
