"""Fills the tables of a page that lists rewards by what they pay for, from the docstrings of their files.

The page is written by hand but for what stands between two marks:

    <!-- rewards: exact_match, token_f1 -->
    <!-- end -->
"""

import ast
import re
from pathlib import Path

from handaxe.errors import InputError

__all__ = ["filled", "listed_in"]

BLOCK = re.compile(r"<!-- rewards: ([\w, ]+) -->\n(.*?)<!-- end -->", re.DOTALL)
ARXIV = re.compile(r"arXiv:\s*(\d{4}\.\d{4,5})")


def filled(page: str, folder: Path) -> str:
    """The page with every table written anew.

    Args:
        page: text with blocks as above.
        folder: of the rewards, a file each.

    Raises:
        InputError: a block names a reward that has no file, or a file has no factory of its name.
    """

    def table(block: re.Match[str]) -> str:
        names = _names(block[1])
        rows = "\n".join(_row(folder, name) for name in names)
        head = "| reward | what it does | paper |\n|---|---|---|"
        return f"<!-- rewards: {', '.join(names)} -->\n\n{head}\n{rows}\n\n<!-- end -->"

    return BLOCK.sub(table, page)


def listed_in(page: str) -> list[str]:
    """The rewards that a page's blocks name, in their order."""
    return [name for block in BLOCK.finditer(page) for name in _names(block[1])]


def _names(block: str) -> list[str]:
    return [name.strip() for name in block.split(",")]


def _row(folder: Path, name: str) -> str:
    file = folder / f"{name}.py"
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        raise InputError(f"the page names the reward {name!r}, and {file} has no function of that name")
    told = ast.get_docstring(found[0]) or ""
    options = [one.arg for one in (*found[0].args.args, *found[0].args.kwonlyargs)]
    papers = dict.fromkeys(ARXIV.findall(told))
    links = ", ".join(f"[{arxiv}](https://arxiv.org/abs/{arxiv})" for arxiv in papers)
    cells = (f"`{name}({', '.join(options)})`", told.split("\n\n")[0].replace("\n", " "), links)
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
