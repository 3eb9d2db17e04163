import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def world():
    """The module world.py of the tests of training."""
    path = Path(__file__).parents[1] / "training" / "world.py"
    spec = importlib.util.spec_from_file_location("training_world", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
