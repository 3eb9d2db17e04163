"""Lists mechanisms by kind, and reads constants of tests.

A mechanism is a file with a factory of the file's name: handaxe/credit/group_norm.py defines `group_norm`. Its kind is
the return type of the factory ("Credit"), or follows from the returned class ("Reward" for a class whose `__call__`
returns Scores). No table lists mechanisms: files are read, not imported.

The test of a mechanism, tests/credit/test_group_norm.py, holds its rows of docs/bias.md and docs/lab.md as constants.
Tests exist in a checkout only.
"""

import ast
import importlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import handaxe
from handaxe.core.errors import InputError

__all__ = ["factory", "kinds", "list_mechanisms", "locate_test", "missing_constants", "read_test_constant"]

HOME = Path(handaxe.__file__).parent
FOLDERS = ("advantages", "credit", "curricula", "judges", "losses", "papers", "rewards", "selection")
CALLED = {"Scores": "Reward", "Advantages": "Credit"}
"""Return type of a class's `__call__` -> kind of the class."""


@cache
def kinds() -> dict[str, str]:
    """Module of a mechanism, without "handaxe.", -> kind. Modules in folders named parts are none."""
    found = {}
    for folder in FOLDERS:
        for file in sorted((HOME / folder).rglob("*.py")):
            parts = file.relative_to(HOME).with_suffix("").parts
            kind = _kind(file)
            if kind and "parts" not in parts:
                found[".".join(parts)] = kind
    return found


def list_mechanisms(*kind: str) -> list[str]:
    """Modules of mechanisms of the kinds, without "handaxe."; sorted."""
    return sorted(module for module, one in kinds().items() if one in kind)


def factory(module: str) -> Any:
    """The factory of a mechanism: the function of the file's name."""
    return getattr(importlib.import_module(f"handaxe.{module}"), module.rpartition(".")[2])


def locate_test(module: str, root: Path = HOME.parent) -> Path:
    """File of a module's test.

    Args:
        module: without "handaxe."; the package of a method stands for its `__init__.py`.
        root: of the checkout.

    Example:
        credit.group_norm       tests/credit/test_group_norm.py
        papers.prs              tests/papers/prs/test_method.py
        papers.prs.prs_vspo     tests/papers/prs/test_prs_vspo.py
    """
    parts = module.split(".")
    if (HOME.joinpath(*parts) / "__init__.py").is_file():
        return root.joinpath("tests", *parts, "test_method.py")
    return root.joinpath("tests", *parts[:-1], f"test_{parts[-1]}.py")


def read_test_constant(module: str, name: str, default: Any = None, *, root: Path = HOME.parent) -> Any:
    """A constant of a module's test; the default without the constant or without a test.

    Raises:
        InputError: the test cannot be imported.
    """
    file = locate_test(module, root)
    return getattr(_imported(file), name, default) if file.is_file() else default


def missing_constants(modules: list[str], name: str, *, root: Path = HOME.parent) -> list[Path]:
    """Tests of modules without a definition of the constant."""
    return [locate_test(one, root) for one in modules if read_test_constant(one, name, root=root) is None]


def _kind(file: Path) -> str:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    made = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == file.stem]
    if not made or made[0].returns is None:
        return ""
    returns = ast.unparse(made[0].returns).strip("'\"")
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == returns:
            methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
            if {"score", "score_steps"} & set(methods):
                return "Judge"
            called = methods["__call__"].returns if "__call__" in methods else None
            if called is not None:
                return CALLED.get(ast.unparse(called), returns)
    return returns


@cache
def _imported(file: Path) -> ModuleType:
    tests = next(str(folder) for folder in file.parents if folder.name == "tests")
    if tests not in sys.path:
        sys.path.append(tests)  # tests import `helpers`
    name = "_".join(["constants", *file.relative_to(tests).with_suffix("").parts])
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise InputError(f"{file} cannot be imported: {error}") from error
    return module
