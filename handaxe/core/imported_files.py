"""Imports of a Python file from the same folder."""

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["imported_files"]


def imported_files(file: Path, folder: Path) -> list[Path]:
    """Return a file and all direct and indirect imports below a folder, sorted.

    Code is read, never run. Imports within functions count; module names computed at run time do not. Packages without
    __init__.py count, too; modulefinder of the standard library fails there.

    Args:
        file: with Python code.
        folder: root of module names, such as an entry of sys.path.

    Example:
        shop.py with "import prices"  ->  [Path("prices.py"), Path("shop.py")]
    """
    waiting, found = [file], set[Path]()
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [path for name in _imports(one, folder) for path in _files(folder, name)]
    return sorted(found)


def _imports(file: Path, folder: Path) -> Iterator[str]:
    """Full names of imported modules and objects; none for a file with a syntax error."""
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
