"""Markdown tables of a role's mechanisms, read from stubs and docstrings, and of verdicts by mechanism.

Pages of docs hold markers instead of tables; `expand_markers` replaces them:

    <!-- table: rewards -->              mechanisms that handaxe/rewards/__init__.pyi exports
    <!-- papers: Reward -->              mechanisms of papers with this return type
    <!-- verdicts: credit advantages --> claims of methods that use mechanisms of these roles
"""

import ast
import re
from collections.abc import Sequence
from pathlib import Path

from handaxe.core.errors import InputError
from handaxe.evaluation.mechanisms import kinds, list_mechanisms
from handaxe.methods.catalog import HOME, ListedMethod
from handaxe.view.papers import Entry, find_decision
from handaxe.view.terminal_tables import decimal, interval
from handaxe.view.verdicts import claim_with_baseline

__all__ = ["expand_markers", "paper_table", "role_claims_table", "role_table"]

ARXIV = re.compile(r"arXiv:\s*(\d{4}\.\d{4,5})")
KINDS = {"credit": ("Credit",), "advantages": ("AdvantageTransform",), "rewards": ("Reward",)}
"""Role -> return types of its factories."""
MARKER = re.compile(r"<!-- (table|papers|verdicts): ([\w ]+) -->")


def role_table(role: str) -> str:
    """Table of the mechanisms in a role's stub.

    Args:
        role: package below handaxe, such as "rewards" or "losses.terms".

    Raises:
        InputError: the package has no stub, or an export has no function of its name.
    """
    folder = HOME.joinpath(*role.split("."))
    stub = folder / "__init__.pyi"
    if not stub.is_file():
        raise InputError(f"handaxe.{role} has no {stub.name}")
    names = [
        (node.module, one.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for one in node.names
    ]
    return _table([_row(folder.joinpath(*module.split(".")).with_suffix(".py"), name) for module, name in names])


def paper_table(*kinds: str) -> str:
    """Table of the mechanisms of papers, by the kinds of factories, such as "Reward"."""
    found = [one.split(".") for one in list_mechanisms(*kinds) if one.startswith("papers.")]
    files = sorted((HOME.joinpath(*parts).with_suffix(".py") for parts in found), key=lambda file: file.stem)
    return _table([_row(file, file.stem) for file in files])


def role_claims_table(roles: Sequence[str], entries: Sequence[Entry]) -> str:
    """Table of the claims of all methods with a mechanism of the roles, with verdicts.

    Args:
        roles: packages below handaxe, such as ("credit", "advantages").
        entries: methods with results, such as `handaxe.commands.papers.read_entries` gives.
    """
    rows = []
    for one in entries:
        used = _used(one.method, roles)
        for claim in one.method.page.claims if used else ():
            decided = find_decision(claim, one.result)
            verdict = "not replicated yet"
            if decided is not None:
                paired = decided.decision.paired
                change = f"{decimal(paired.difference, sign=True)} {interval(paired.low, paired.high)}"
                verdict = f"**{decided.decision.verdict}**: {change}"
            text = claim_with_baseline(claim, decided.baseline if decided else one.method.page.base)
            rows.append((f"`{one.method.name}`", ", ".join(f"`{name}`" for name in used), text, verdict))
    head = ["| method | mechanisms | claim | verdict |", "|---|---|---|---|"]
    return "\n".join([*head, *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)])


def expand_markers(page: str, entries: Sequence[Entry]) -> str:
    """Replace the markers of a page by tables.

    Args:
        page: Markdown.
        entries: see `role_claims_table`.
    """

    def table(marker: re.Match[str]) -> str:
        words = marker[2].split()
        if marker[1] == "verdicts":
            return role_claims_table(words, entries)
        return paper_table(*words) if marker[1] == "papers" else "\n\n".join(role_table(role) for role in words)

    return MARKER.sub(table, page)


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    head = ["| mechanism | summary | paper |", "|---|---|---|"]
    return "\n".join([*head, *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)])


def _row(file: Path, name: str) -> tuple[str, str, str]:
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    made = next((node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name), None)
    if made is None:
        raise InputError(f"{file} has no function {name!r}")
    doc = ast.get_docstring(made) or ""
    options = [one.arg for one in (*made.args.args, *made.args.kwonlyargs)] if isinstance(made, ast.FunctionDef) else []
    links = ", ".join(f"[{one}](https://arxiv.org/abs/{one})" for one in dict.fromkeys(ARXIV.findall(doc)))
    return f"`{name}({', '.join(options)})`", doc.split("\n\n")[0].replace("\n", " "), links


def _used(method: ListedMethod, roles: Sequence[str]) -> list[str]:
    """Mechanisms of roles in a method's imports, direct or through the paper's folder, and mechanisms of the folder."""
    found, seen = set[str](), set[str]()
    waiting = [method.module]
    own = {kind for role in roles for kind in KINDS.get(role, ())}
    while waiting:
        module = waiting.pop()
        file = HOME.parent.joinpath(*module.split("."))
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        if module in seen or not file.is_file():
            continue
        seen.add(module)
        if kinds().get(module.removeprefix("handaxe.")) in own:
            found.add(module.rpartition(".")[2])
        packages = set[str]()
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                packages |= {one.name for one in node.names if node.module == "handaxe" and one.name in roles}
                if node.module.startswith(f"{method.module.rpartition('.')[0]}."):
                    waiting.append(node.module)
                if any(node.module.startswith(f"handaxe.{role}.") for role in roles):
                    found.add(node.module.rpartition(".")[2])
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages:
                found.add(node.attr)
    return sorted(found)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
