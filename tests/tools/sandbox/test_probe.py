import pytest

from handaxe.core.errors import InputError
from handaxe.tools.sandbox import probe as module
from handaxe.tools.sandbox.probe import probe


@pytest.fixture
def forgetful():
    probe.cache_clear()
    yield
    probe.cache_clear()


def test_without_bubblewrap(monkeypatch, tmp_path, forgetful):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install bubblewrap"):
        probe()


def test_a_bubblewrap_that_is_refused(monkeypatch, tmp_path, forgetful):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InputError, match=r"No permissions to create new namespace.*user namespaces"):
        probe()


def test_a_sandbox_that_does_not_hold_is_refused(monkeypatch, sandbox, forgetful):
    """What must be refused is tried: here one of the tries is answered as if it had gone through."""
    monkeypatch.setattr(module, "PROGRAM", module.PROGRAM.replace('open("/etc/passwd")', "1"))
    with pytest.raises(InputError, match="does not refuse.*files outside"):
        probe()


def test_it_is_remembered(sandbox, monkeypatch, tmp_path):
    probe()
    monkeypatch.setenv("PATH", str(tmp_path))
    probe()
