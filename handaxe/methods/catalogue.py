"""Finds the recipes: every file of this folder that has a PAPER and a function of its own name. Nothing is registered.

Listing reads the source without running it, so that it is quick and imports neither torch nor a model.
"""

import ast
import difflib
import importlib
import pkgutil
from pathlib import Path
from typing import Any, NamedTuple

import handaxe.recipes
from handaxe.errors import RecipeError
from handaxe.recipes.paper import Claim, Paper, Recipe

__all__ = ["Listed", "find_recipes", "load_recipe"]


class Listed(NamedTuple):
    """A recipe as its source describes it. `summary` is the first line of its function's docstring."""

    name: str
    summary: str
    paper: Paper | None
    claim: Claim | None
    file: Path


def find_recipes(folders: list[str] | None = None) -> list[Listed]:
    """Every recipe, sorted by name.

    Args:
        folders: where to look; None is the package handaxe.recipes.

    Raises:
        RecipeError: naming the file, when a recipe lacks its function, or its PAPER or CLAIM is not a literal.
    """
    places = list(handaxe.recipes.__path__) if folders is None else folders
    files = [Path(place) / f"{module.name}.py" for place in places for module in pkgutil.iter_modules([place])]
    listed = (_read(file) for file in files if file.is_file())
    return sorted((one for one in listed if one is not None), key=lambda one: one.name)


def load_recipe(name: str) -> Recipe:
    """Import one recipe.

    Raises:
        RecipeError: when there is none of that name; the message holds close matches.
    """
    names = [one.name for one in find_recipes()]
    if name not in names:
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else "`handaxe recipes` lists them."
        raise RecipeError(f"there is no recipe {name!r}; {hint}")
    module = importlib.import_module(f"{handaxe.recipes.__name__}.{name}")
    parts = vars(module)
    return Recipe(name, parts[name], parts["PAPER"], parts.get("CLAIM"), module.__name__)


def _read(file: Path) -> Listed | None:
    """What the source of a file says, or None when it is not a recipe."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise RecipeError(f"{file}, line {error.lineno}: {error.msg}") from error
    constants = {target.id: value for target, value in _assignments(tree) if target.id in ("PAPER", "CLAIM")}
    if "PAPER" not in constants:
        return None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == file.stem]
    if not functions:
        raise RecipeError(f"{file} has a PAPER but no function {file.stem}(...), which would be the recipe")
    summary = (ast.get_docstring(functions[0]) or "").partition("\n")[0]
    paper = _construct(file, "PAPER", constants["PAPER"], Paper)
    claim = _construct(file, "CLAIM", constants["CLAIM"], Claim) if "CLAIM" in constants else None
    return Listed(file.stem, summary, paper, claim, file)


def _assignments(tree: ast.Module) -> list[tuple[ast.Name, ast.expr]]:
    """(name, value) of every plain or annotated assignment at the top of a module."""
    found: list[tuple[ast.Name, ast.expr]] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found += [(target, node.value) for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found.append((node.target, node.value))
    return found


def _construct(file: Path, constant: str, node: ast.expr, kind: type) -> Any:
    """The record that `kind(...)` in the source would make, or None for None."""
    where = f"{file}, line {node.lineno}: {constant}"
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == kind.__name__):
        raise RecipeError(f"{where} must be {kind.__name__}(...) written out, or None")
    try:
        args = [ast.literal_eval(value) for value in node.args]
        named = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
        return kind(*args, **named)
    except (ValueError, TypeError) as error:
        raise RecipeError(f"{where} does not fit, or is not made of plain literals: {error}") from error
