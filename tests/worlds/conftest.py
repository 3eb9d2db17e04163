import importlib.util
import shutil

import pytest


@pytest.fixture(scope="session")
def changed():
    """The function `changed` of helpers/bfcl_changes.py."""
    from helpers import bfcl_changes as module

    return module.changed


@pytest.fixture(scope="session")
def chromium_of_miniwob():
    """Skip without a playable page of miniwob."""
    for package in ("miniwob", "playwright"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is missing: pip install 'handaxe[miniwob]'")
    if shutil.which("chromium") is None:
        pytest.skip("chromium is missing: apt-get install chromium")
