import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def dice():
    """The module tests/rollouts/dice.py."""
    spec = importlib.util.spec_from_file_location("rollouts_dice", Path(__file__).parents[1] / "rollouts" / "dice.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
