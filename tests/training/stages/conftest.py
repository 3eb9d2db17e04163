import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def world():
    """The small trainable world of the training tests."""
    path = Path(__file__).parents[1] / "world.py"
    spec = importlib.util.spec_from_file_location("training_world", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
