import os
import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.layout import layout_of


def test_only_the_packages_that_were_named_and_what_they_require():
    layout = layout_of(None, ("numpy",))
    places = [place for _, place in layout.mounts if place.startswith("/packages/")]
    assert "/packages/numpy" in places
    assert not [place for place in places if "torch" in place or "handaxe" in place or place.endswith(".pth")]
    required = [place for _, place in layout_of(None, ("sympy",)).mounts]
    assert "/packages/mpmath" in required and "/packages/numpy" not in required


def test_nothing_else_of_this_machine_is_mounted():
    base = os.path.realpath(sys.base_prefix)
    for here, there in layout_of(None, ()).mounts:
        assert here == there and here.startswith(("/usr/lib", "/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo", base))
        assert here not in ("/", "/usr", "/etc", base)


def test_the_interpreters_own_packages_are_covered():
    layout = layout_of(None, ())
    stdlib = os.path.dirname(os.path.realpath(os.__file__))
    for name in ("site-packages", "dist-packages"):
        folder = os.path.join(stdlib, name)
        assert (folder in layout.covered) == os.path.isdir(folder)


def test_an_unknown_package():
    with pytest.raises(InputError, match=r"no-such-package.*handaxe\[sandbox\]"):
        layout_of(None, ("no-such-package",))


@pytest.mark.parametrize("wrong", ["/no/such/python", "/bin/true"])
def test_no_interpreter(wrong):
    with pytest.raises(InputError, match="no Python"):
        layout_of(wrong, ())
