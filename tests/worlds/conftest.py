import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def changed():
    """The function of that name in bfcl_changes.py beside this file."""
    spec = importlib.util.spec_from_file_location("bfcl_changes", Path(__file__).with_name("bfcl_changes.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.changed
