import os
import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.mounts import find_mounts


def test_packages_are_mounted_with_their_requirements():
    layout = find_mounts(None, ("numpy",))
    places = [place for _, place in layout.mounts if place.startswith("/packages/")]
    assert "/packages/numpy" in places
    assert not [place for place in places if "torch" in place or "handaxe" in place or place.endswith(".pth")]
    required = [place for _, place in find_mounts(None, ("sympy",)).mounts]
    assert "/packages/mpmath" in required and "/packages/numpy" not in required


def test_no_other_folder_is_mounted():
    base = os.path.realpath(sys.base_prefix)
    for here, there in find_mounts(None, ()).mounts:
        assert here == there and here.startswith(("/usr/lib", "/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo", base))
        assert here not in ("/", "/usr", "/etc", base)


def test_installed_packages_are_covered():
    layout = find_mounts(None, ())
    stdlib = os.path.dirname(os.path.realpath(os.__file__))
    for name in ("site-packages", "dist-packages"):
        folder = os.path.join(stdlib, name)
        assert (folder in layout.covered) == os.path.isdir(folder)


def test_unknown_package_raises():
    with pytest.raises(InputError, match=r"no-such-package.*handaxe\[sandbox\]"):
        find_mounts(None, ("no-such-package",))


@pytest.mark.parametrize("wrong", ["/no/such/python", "/bin/true"])
def test_invalid_interpreter_raises(wrong):
    with pytest.raises(InputError, match="no Python"):
        find_mounts(wrong, ())
