"""What the recipes' files say of themselves, read without importing them: neither torch nor a model is loaded."""

import ast
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.errors import RecipeError
from handaxe.evaluation.claims import Claim
from handaxe.methods.names import HOME, Offer, offered
from handaxe.methods.paper import Paper
from handaxe.methods.study import Bound

__all__ = ["Listed", "ListedStudy", "find_recipes", "find_studies"]


class Listed(NamedTuple):
    """A recipe as its source describes it.

    summary   the first line of its function's docstring
    theme     the folder it lies in
    base      the recipe it changes, with what it is given, such as "plain (minibatches=2)"; "" for the root
    world     likewise, the world it is run in
    """

    name: str
    summary: str
    theme: str
    paper: Paper | None
    claims: tuple[Claim, ...]
    base: str
    world: str
    file: Path


class ListedStudy(NamedTuple):
    """A study as its source describes it; see `methods.study`."""

    name: str
    summary: str
    paper: Paper
    bounds: tuple[Bound, ...]
    file: Path


def find_recipes(home: Path = HOME) -> list[Listed]:
    """Every recipe, sorted by name.

    Args:
        home: the folder of the package, which holds recipes/.

    Raises:
        RecipeError: naming the file, when two recipes have one name, or a Paper or Claim is not made of literals.
    """
    listed = [_read(one) for one in offered("recipes", home)]
    for one, other in pairwise(listed):
        if one.name == other.name:
            raise RecipeError(f"two recipes are called {one.name!r}: {one.file} and {other.file}; rename one")
    return listed


def find_studies(home: Path = HOME) -> list[ListedStudy]:
    """Every study, sorted by name.

    Args:
        home: the folder of the package, which holds recipes/.

    Raises:
        RecipeError: naming the file, when it is no Python, or a Paper or Bound is not made of literals.
    """
    found = []
    for file in sorted((home / "recipes").rglob("*.py"), key=lambda one: one.stem):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except SyntaxError as error:
            raise RecipeError(f"{file}, line {error.lineno}: {error.msg}") from error
        constants = _constants(tree)
        if "STUDY" in constants:
            found.append(_study(file, tree, constants))
    return found


def _study(file: Path, tree: ast.Module, constants: Mapping[str, ast.expr]) -> ListedStudy:
    study = constants["STUDY"]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == file.stem]
    if not (isinstance(study, ast.Call) and ast.unparse(study.func) == "Study") or study.args or not functions:
        raise RecipeError(
            f"{file}, line {study.lineno}: STUDY must be Study(name=value, ...) written out, beside a function "
            f"{file.stem}"
        )
    fields = {str(word.arg): word.value for word in study.keywords}
    bounds = getattr(fields.get("bounds", ast.Tuple([])), "elts", [])
    return ListedStudy(
        name=file.stem,
        summary=(ast.get_docstring(functions[0]) or "").partition("\n")[0],
        paper=_construct(file, fields["paper"], Paper, constants),
        bounds=tuple(_construct(file, one, Bound, constants) for one in bounds),
        file=file,
    )


def _read(found: Offer) -> Listed:
    tree = ast.parse(found.file.read_text(encoding="utf-8"))
    constants = _constants(tree)
    recipe = constants["RECIPE"]
    if not (isinstance(recipe, ast.Call) and ast.unparse(recipe.func) == "Recipe") or recipe.args:
        raise RecipeError(f"{found.file}, line {recipe.lineno}: RECIPE must be Recipe(name=value, ...) written out")
    fields = {str(word.arg): word.value for word in recipe.keywords}
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == found.name)
    first = next((one.arg for one in function.args.args), "")
    claims = fields.get("claims", ast.Tuple([]))
    return Listed(
        name=found.name,
        summary=found.summary,
        theme=found.file.parent.name,
        paper=_construct(found.file, fields["paper"], Paper, constants) if "paper" in fields else None,
        claims=tuple(_construct(found.file, one, Claim, constants) for one in getattr(claims, "elts", [claims])),
        base="" if first == "world" else _named(fields.get("base"), "plain"),
        world=_named(fields.get("world"), "gym"),
        file=found.file,
    )


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Name -> value of every plain assignment at the top of a module."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def _named(node: ast.expr | None, otherwise: str) -> str:
    """The name of a function, with the arguments that a `partial` of it gives."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return otherwise
    if isinstance(node, ast.Call) and node.args:
        given = ", ".join(f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords)
        return f"{ast.unparse(node.args[0])} ({given})" if given else ast.unparse(node.args[0])
    return ast.unparse(node)


def _construct(file: Path, node: ast.expr, kind: type, constants: Mapping[str, ast.expr]) -> Any:
    """The record that `kind(...)` in the source would make, or None for None."""
    where = f"{file}, line {node.lineno}: this"
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == kind.__name__):
        raise RecipeError(f"{where} must be {kind.__name__}(...) written out")
    try:
        args = [_literal(value, constants) for value in node.args]
        return kind(*args, **{str(word.arg): _literal(word.value, constants) for word in node.keywords})
    except (ValueError, TypeError) as error:
        raise RecipeError(f"{where} does not fit {kind.__name__}, or is not made of literals: {error}") from error


def _literal(node: ast.expr, constants: Mapping[str, ast.expr]) -> Any:
    """A literal, or a constant of the module that is one."""
    named = isinstance(node, ast.Name) and node.id in constants
    return ast.literal_eval(constants[node.id] if named and isinstance(node, ast.Name) else node)
