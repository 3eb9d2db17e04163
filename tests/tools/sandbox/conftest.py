import pytest

from handaxe.tools.sandbox.command import Spec
from handaxe.tools.sandbox.layout import layout_of
from handaxe.tools.sandbox.limits import Limits


@pytest.fixture
def spec(sandbox):
    """A bare interpreter with small limits."""
    return Spec(layout_of(None, ()), Limits(seconds=1.0, disk=2**18, threads=2, output=2**14))
