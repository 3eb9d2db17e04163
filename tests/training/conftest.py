import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def world():
    """The module world.py beside this file."""
    spec = importlib.util.spec_from_file_location("training_world", Path(__file__).with_name("world.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
