"""Finds the files that a Python file imports from its own folder."""

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["imported_files"]


def imported_files(file: Path, folder: Path) -> list[Path]:
    """Return a file, and the files below a folder that it imports, also through each other, sorted.

    Reads the code and runs nothing. Imports within functions count; names that are put together at run time do not.

    Args:
        file: with Python code.
        folder: to which names of modules are relative, as one of sys.path.

    Example:
        imported_files(Path("shop.py"), Path(".")), which has "import prices" -> [Path("prices.py"), Path("shop.py")]
    """
    waiting, found = [file], set[Path]()
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [path for name in _imports(one, folder) for path in _files(folder, name)]
    return sorted(found)


def _imports(file: Path, folder: Path) -> Iterator[str]:
    """Full names of the modules, or of the objects in them, that a file imports; none for a file that has no Python."""
    package = file.parent.relative_to(folder).parts
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError):  # the run fails, and names the line
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            yield from (".".join((*above, node.module or "", alias.name)).replace("..", ".") for alias in node.names)


def _files(folder: Path, name: str) -> Iterator[Path]:
    """Files of a module and of the packages around it."""
    path = folder
    for part in name.strip(".").split("."):
        path /= part
        yield from (one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file())
