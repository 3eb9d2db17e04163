"""What the rules read: every module of the package, parsed."""

import ast
import functools
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.relative_to(ROOT) for path in (ROOT / "handaxe").rglob("*.py"))
MECHANISMS = ("advantages", "credit", "curricula", "judges", "losses", "papers", "rewards", "rollouts", "selection")


@cache
def tree(module):
    return ast.parse((ROOT / module).read_text())


@cache
def exported(module):
    """The module's `__all__`, or None when it has none."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return [element.value for element in node.value.elts]
    return None


def defined(module):
    """Public names that the module itself defines (functions, classes; not constants)."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node.name for node in tree(module).body if isinstance(node, kinds) and not node.name.startswith("_")]


def functions(module):
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def factory(module):
    """The public function or class with the file's name, in any case style; None when there is none."""
    plain = module.stem.replace("_", "")
    for node in tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.replace("_", "").lower() == plain:
            return node
    return None


def for_each(modules):
    """Make a test of one module a test of each package that names every module at fault."""
    by_package = {}
    for module in modules:
        by_package.setdefault(module.parts[1], []).append(module)

    def wrap(check):
        @pytest.mark.parametrize("package", sorted(by_package))
        @functools.wraps(check, assigned=("__name__", "__doc__", "__module__"), updated=())
        def test(package):
            failures = []
            for module in by_package[package]:
                try:
                    check(module)
                except AssertionError as error:
                    failures.append(f"{module}: {error}")
            assert not failures, "\n".join(failures)

        del test.__wrapped__
        return test

    return wrap
