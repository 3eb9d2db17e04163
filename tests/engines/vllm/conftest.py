import os
import tempfile

import pytest


@pytest.fixture(scope="session", autouse=True)
def folder_of_servers():
    """A server that is killed leaves its sockets behind: here they go with the tests."""
    with tempfile.TemporaryDirectory(prefix="hx-", ignore_cleanup_errors=True) as folder:
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = folder
        yield
        os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)


@pytest.fixture
def sampled():
    """Makes `Sampled` engines of the tiny model, and closes them."""
    from helpers.sampled_engine import Sampled, make_model  # needs starlette, uvicorn and httpx

    made = []

    def make(*args, **options):
        made.append(Sampled(make_model(), *args, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()
