import importlib.util
from pathlib import Path

import pytest

from handaxe.testing.records import make_group, make_rated, make_scores, make_task


@pytest.fixture(scope="session")
def world():
    """The module world.py of the tests of training."""
    path = Path(__file__).parents[1] / "training" / "world.py"
    spec = importlib.util.spec_from_file_location("training_world", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def seen():
    """seen(a=[1, 0], ...): what a curriculum is shown of a step, outcomes of siblings by the id of their task."""

    def rated(**outcomes):
        return [
            make_rated(group=make_group(size=len(own), task=make_task(id=id)), scores=make_scores(own))
            for id, own in outcomes.items()
        ]

    return rated
