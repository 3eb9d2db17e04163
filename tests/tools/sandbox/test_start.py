import os

import pytest

from handaxe.errors import InfrastructureError
from handaxe.tools.sandbox.start import greet, launch


def descriptors():
    return set(os.listdir("/proc/self/fd"))


def test_started_greeted_and_destroyed_nothing_is_left(spec):
    before = descriptors()
    worker = launch(spec)
    assert not worker.alive
    greet(worker, seconds=60)
    assert worker.alive
    worker.destroy()
    assert descriptors() == before


def test_a_module_that_cannot_be_preloaded_is_named(spec):
    before = descriptors()
    worker = launch(spec._replace(preload=("no_such_module",)))
    with pytest.raises(InfrastructureError, match="no_such_module"):
        greet(worker, seconds=60)
    assert descriptors() == before


def test_what_bubblewrap_says_is_passed_on(spec):
    before = descriptors()
    wrong = spec.layout._replace(mounts=(*spec.layout.mounts, ("/no/such/folder", "/x")))
    with pytest.raises(InfrastructureError, match="no/such/folder"):
        greet(launch(spec._replace(layout=wrong)), seconds=60)
    assert descriptors() == before
