import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.check_sandbox import check_sandbox

MODULE = sys.modules[check_sandbox.__module__]


@pytest.fixture
def cleared_cache():
    check_sandbox.cache_clear()
    yield
    check_sandbox.cache_clear()


def test_missing_bubblewrap_raises_with_the_package(monkeypatch, tmp_path, cleared_cache):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install bubblewrap"):
        check_sandbox()


def test_refused_namespaces_raise_with_advice(monkeypatch, tmp_path, cleared_cache):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InputError, match=r"No permissions to create new namespace.*user namespaces"):
        check_sandbox()


def test_check_sandbox_raises_if_a_forbidden_action_succeeds(monkeypatch, sandbox, cleared_cache):
    """The program tries forbidden actions; here a try is replaced by a successful one."""
    monkeypatch.setattr(MODULE, "PROGRAM", MODULE.PROGRAM.replace('open("/etc/passwd")', "1"))
    with pytest.raises(InputError, match="does not refuse.*files outside"):
        check_sandbox()


def test_result_is_cached(sandbox, monkeypatch, tmp_path):
    check_sandbox()
    monkeypatch.setenv("PATH", str(tmp_path))
    check_sandbox()
