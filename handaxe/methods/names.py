"""Finds what a name stands for: a file of a room, or MODULE:ATTRIBUTE of the user's. Nothing is registered.

    recipes    any folder below handaxe/recipes    the function of the file's name, beside its RECIPE
    worlds     handaxe/worlds                      the function of the file's name that returns a World
    tools      handaxe/tools                       the tool of the file's name, or the function that makes it
    engines    handaxe/engines                     the class NAMEEngine of the file NAME, made of a model in hand

Rooms are read and not imported, so that listing them is quick.
"""

import ast
import difflib
import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import handaxe
from handaxe.attributes import attribute
from handaxe.errors import InputError, RecipeError

__all__ = ["Offer", "Room", "find", "offered", "tools_named"]

Room = Literal["recipes", "worlds", "tools", "engines"]
HOME = Path(handaxe.__file__).parent
KINDS = {"recipes": "recipe", "worlds": "world", "tools": "tool", "engines": "engine"}
Node = ast.FunctionDef | ast.ClassDef


class Offer(NamedTuple):
    """What a room offers under a name, as its source describes it."""

    name: str
    attribute: str
    file: Path
    summary: str


def offered(room: Room, home: Path = HOME) -> list[Offer]:
    """Everything that a room offers, sorted by name.

    Args:
        room: which.
        home: the folder of the package.

    Raises:
        RecipeError: a file of the room is no Python.
    """
    return sorted(_offers(room, home, "*"), key=lambda one: one.name)


def find(room: Room, name: str) -> Any:
    """What a name stands for.

    Args:
        room: where a plain name is looked up.
        name: a file of that room without its ending, or MODULE:ATTRIBUTE.

    Raises:
        InputError: there is nothing of that name (for a recipe a RecipeError); the message holds close matches.
    """
    if ":" in name:
        return attribute(name, noun=KINDS[room], example=f"my_file:my_{KINDS[room]}")
    found = list(_offers(room, HOME, name)) if name.isidentifier() else []  # one file is read, and not the room
    if not found:
        raise _unknown(room, name, [one.name for one in offered(room)])
    inside = found[-1].file.relative_to(HOME.parent).with_suffix("")
    return getattr(importlib.import_module(".".join(inside.parts)), found[-1].attribute)


def tools_named(names: Sequence[str]) -> list[Any]:
    """Tools by their names, or MODULE:ATTRIBUTE of a user's; "none" alone is none.

    Raises:
        InputError: there is nothing of a name.
    """
    return [] if list(names) == ["none"] else [find("tools", name) for name in names]


def _unknown(room: Room, name: str, there: list[str]) -> InputError:
    kind = KINDS[room]
    if close := _close(name, there):
        hint = close
    elif room == "recipes":
        hint = "; `handaxe recipes` lists them"
    else:
        hint = f"; there are {', '.join(there)}, and MODULE:ATTRIBUTE of your own"
    return (RecipeError if room == "recipes" else InputError)(f"there is no {kind} {name!r}{hint}")


def _close(name: str, there: list[str]) -> str:
    close = difflib.get_close_matches(name, there, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _offers(room: Room, home: Path, stem: str) -> Iterator[Offer]:
    """What the files called `stem` offer, a pattern; only recipes lie in folders of their room."""
    where = "**/" if room == "recipes" else ""
    files = sorted(file for file in (home / room).glob(f"{where}{stem}.py") if not file.name.startswith("_"))
    return (found for file in files if (found := _offer(room, file)) is not None)


def _offer(room: Room, file: Path) -> Offer | None:
    """What a file of a room offers, None when it is a helper."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise RecipeError(f"{file}, line {error.lineno}: {error.msg}") from error
    for node in tree.body:
        if isinstance(node, Node) and CHECKS[room](node, file.stem, tree):
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            return Offer(file.stem, node.name, file, summary)
    return None


def _makes(node: Node, stem: str, result: str) -> bool:
    """Whether it is the file's function and returns a `result`, as its annotation says."""
    named = isinstance(node, ast.FunctionDef) and node.name == stem
    return (
        named and isinstance(node, ast.FunctionDef) and node.returns is not None and ast.unparse(node.returns) == result
    )


def _needs_nothing(node: Node) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.args.args and None not in node.args.kw_defaults


def _is_recipe(node: Node, stem: str, tree: ast.Module) -> bool:
    constants = [target for one in tree.body if isinstance(one, ast.Assign) for target in one.targets]
    has_recipe = any(isinstance(target, ast.Name) and target.id == "RECIPE" for target in constants)
    return isinstance(node, ast.FunctionDef) and node.name == stem and has_recipe


def _is_tool(node: Node, stem: str, _tree: ast.Module) -> bool:
    decorators = [ast.unparse(one).partition("(")[0] for one in node.decorator_list]
    return node.name == stem and ("tool" in decorators or (_makes(node, stem, "Tool") and _needs_nothing(node)))


def _is_engine(node: Node, stem: str, _tree: ast.Module) -> bool:
    if not isinstance(node, ast.ClassDef) or node.name.lower() != f"{stem.replace('_', '')}engine":
        return False
    made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    return not made or [one.arg for one in made[0].args.args[1:2]] == ["model"]


CHECKS: dict[str, Callable[[Node, str, ast.Module], bool]] = {
    "recipes": _is_recipe,
    "worlds": lambda node, stem, tree: _makes(node, stem, "World"),
    "tools": _is_tool,
    "engines": _is_engine,
}
