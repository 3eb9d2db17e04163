import pytest

from handaxe.tools.sandbox.command import SandboxSpec
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import find_mounts


@pytest.fixture
def spec(sandbox):
    """A bare interpreter with small limits."""
    return SandboxSpec(find_mounts(None, ()), Limits(seconds=1.0, disk=2**18, threads=2, output=2**14))
