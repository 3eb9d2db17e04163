"""What the contract tests of a room read of a mechanism's own test, so that no table has to be edited for a new one.

tests/ROOM/test_NAME.py may say

    CONTRACT = [{}, {"gamma": 0.9}]      the arguments with which the contract is checked; without it the defaults

and more that a room's contract test asks for by name.
"""

import ast
import importlib
import importlib.util
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent


def names_in(package):
    """The mechanisms of a room, by their files."""
    return sorted(path.stem for path in Path(package.__path__[0]).glob("*.py") if path.stem != "__init__")


def factory(room, name):
    """The factory with the file's name."""
    return getattr(importlib.import_module(f"handaxe.{room}.{name}"), name.rpartition(".")[2])


def makes(room, name):
    """What its factory says that it returns, by name: several kinds are the same type."""
    tree = ast.parse((TESTS.parent / "handaxe" / room / f"{name}.py").read_text())
    (made,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return ast.unparse(made.returns)


def own(room, name, what, otherwise):
    """What the mechanism's own test says of it under a name."""
    return getattr(_test(room, name), what, otherwise)


def cases(room, names):
    """(name, arguments) of everything that the contract is checked with."""
    return [(name, arguments) for name in names for arguments in own(room, name, "CONTRACT", [{}])]


def told(value):
    """A name or arguments in a test's name: the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


@cache
def _test(room, name):
    folder, _, last = f"{room}.{name}".rpartition(".")
    path = TESTS.joinpath(*folder.split("."), f"test_{last}.py")
    spec = importlib.util.spec_from_file_location(f"contract_{room}_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
