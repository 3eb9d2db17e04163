"""Fills tables of pages that are written by hand but for what stands between two marks:

    <!-- rewards: exact_match, token_f1 -->
    <!-- end -->

The word is a folder of the package, and the names are files in it, of whose docstrings the table is made; or it is
`verdicts`, and the names are recipes, of whose claims the table is made.
"""

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from handaxe.core.errors import InputError

__all__ = ["Verdicts", "filled", "listed_in"]

Verdicts = Callable[[str], Sequence[tuple[str, str]]]
"""Name of a recipe -> its claims, each with what came of it."""
BLOCK = re.compile(r"<!-- (\w+): ([\w, ]+) -->\n(.*?)<!-- end -->", re.DOTALL)
ARXIV = re.compile(r"arXiv:\s*(\d{4}\.\d{4,5})")


def filled(page: str, package: Path, verdicts: Verdicts) -> str:
    """The page with every table written anew.

    Args:
        page: text with blocks as above.
        package: the folder in which those of the blocks lie.
        verdicts: claims of a recipe.

    Raises:
        InputError: a block names what has no file, or a file has no factory of its name.
    """

    def table(block: re.Match[str]) -> str:
        kind, names = block[1], _names(block[2])
        if kind == "verdicts":
            head = "| recipe | claim | verdict |\n|---|---|---|"
            rows = [
                f"| `{name}` | {_cell(claim)} | {_cell(said)} |" for name in names for claim, said in verdicts(name)
            ]
        else:
            head = f"| {kind.removesuffix('s')} | what it does | paper |\n|---|---|---|"
            rows = [_row(package / kind, name) for name in names]
        body = "\n".join([head, *rows])
        return f"<!-- {kind}: {', '.join(names)} -->\n\n{body}\n\n<!-- end -->"

    return BLOCK.sub(table, page)


def listed_in(page: str, kind: str) -> list[str]:
    """What a page's blocks of a kind name, in their order."""
    return [name for block in BLOCK.finditer(page) if block[1] == kind for name in _names(block[2])]


def _names(block: str) -> list[str]:
    return [name.strip() for name in block.split(",")]


def _row(folder: Path, name: str) -> str:
    file = folder / f"{name}.py"
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        raise InputError(f"the page names {name!r}, and {file} has no function of that name")
    told = ast.get_docstring(found[0]) or ""
    options = [one.arg for one in (*found[0].args.args, *found[0].args.kwonlyargs)]
    papers = dict.fromkeys(ARXIV.findall(told))
    links = ", ".join(f"[{arxiv}](https://arxiv.org/abs/{arxiv})" for arxiv in papers)
    cells = (f"`{name}({', '.join(options)})`", told.split("\n\n")[0].replace("\n", " "), links)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
