"""Finds every mechanism of a kind, in the roles and in papers, for the contract tests. No table lists them.

The mechanism's own test, tests/FOLDER/test_NAME.py, may set

    CONTRACT = [{}, {"gamma": 0.9}]      arguments that the contract is checked with; the defaults without it

and further constants that a contract test reads by name.
"""

import ast
import importlib
import importlib.util
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("advantages", "credit", "curricula", "judges", "losses", "papers", "rewards", "selection")
CALLED = {"Scores": "Reward", "Advantages": "Credit"}
"""Return type of a class's __call__ -> the kind of the class."""


@cache
def kinds():
    """Module without "handaxe." -> kind of its factory: the name of its return type, or what its class does."""
    found = {}
    for folder in FOLDERS:
        for file in sorted((ROOT / "handaxe" / folder).rglob("*.py")):
            inside = file.relative_to(ROOT / "handaxe").with_suffix("")
            kind = _kind(file)
            if kind and "parts" not in inside.parts:
                found[".".join(inside.parts)] = kind
    return found


def mechanisms(kind):
    """Modules whose factory is of a kind, sorted."""
    return sorted(name for name, one in kinds().items() if one == kind)


def factory(name):
    """The factory of a module: the function of the file's name."""
    return getattr(importlib.import_module(f"handaxe.{name}"), name.rpartition(".")[2])


def own(name, what, otherwise):
    """A constant of the mechanism's own test."""
    return getattr(_test(name), what, otherwise)


def cases(names):
    """(name, arguments) of everything that the contract is checked with."""
    return [(name, arguments) for name in names for arguments in own(name, "CONTRACT", [{}])]


def label(value):
    """A name or arguments in a test's name: the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def _kind(file):
    body = ast.parse(file.read_text()).body
    made = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == file.stem]
    if not made or made[0].returns is None:
        return ""
    returns = ast.unparse(made[0].returns).strip("'\"")
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == returns:
            methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
            if {"score", "score_steps"} & set(methods):
                return "Judge"
            if "__call__" in methods and methods["__call__"].returns is not None:
                return CALLED.get(ast.unparse(methods["__call__"].returns), returns)
    return returns


@cache
def _test(name):
    folder, _, last = name.rpartition(".")
    path = ROOT.joinpath("tests", *folder.split("."), f"test_{last}.py")
    spec = importlib.util.spec_from_file_location(f"contract_{name.replace('.', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
