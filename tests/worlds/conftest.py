import importlib.util
import shutil

import pytest


@pytest.fixture(scope="session")
def changed():
    """The function of that name in bfcl_changes.py beside this file."""
    from helpers import bfcl_changes as module

    return module.changed


@pytest.fixture(scope="session")
def chromium_of_miniwob():
    """Skips where a page of miniwob cannot be played."""
    for package in ("miniwob", "playwright"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is missing: pip install 'handaxe[miniwob]'")
    if shutil.which("chromium") is None:
        pytest.skip("chromium is missing: apt-get install chromium")
