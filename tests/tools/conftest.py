import pytest

from handaxe.errors import InputError
from handaxe.tools.sandbox.probe import probe


@pytest.fixture(scope="session")
def sandbox():
    """Skips where bubblewrap cannot run, saying why. One that runs and does not hold is a failure."""
    try:
        probe()
    except InputError as error:
        if "does not refuse" in str(error):
            raise
        pytest.skip(str(error))
