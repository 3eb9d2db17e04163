"""A module of a role serves several users; what one paper alone uses is in the folder of that paper.

A user is a paper, or any part of the library outside roles and papers, such as a baseline or a command. A module
counts for everybody who uses the modules that import it. Exports in a stub (`__init__.pyi`) are no users. A module
that runs as a program is in use, and so is a module with a line `Kept: ...` in the docstring, which states why the
library keeps it.
"""

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

HOME = Path(__file__).parents[2] / "handaxe"
ROLES = (
    "advantages", "credit", "curricula", "envs", "judges", "losses", "ops", "rewards", "rollouts", "selection", "tools",
    "training.sft", "training.stages", "worlds",
)  # fmt: skip
PAPERS = sorted(page.parent.name for page in HOME.glob("papers/*/paper.toml"))
LIBRARY = "handaxe"
"""The user that stands for everything outside roles and papers, for programs, and for `Kept:` lines."""


def name_of(path: Path) -> str:
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in HOME.rglob("*.py")}


@cache
def exports() -> dict[str, str]:
    """Map what stubs export, such as `credit.gae`, to the module that defines it."""
    found = {}
    for stub in HOME.rglob("__init__.pyi"):
        package = name_of(stub)
        for node in ast.parse(stub.read_text()).body:
            for alias in node.names if isinstance(node, ast.ImportFrom) and node.level else ():
                home = ".".join(part for part in (package, node.module) if part)
                inner = f"{home}.{alias.name}"
                found[f"{package}.{alias.asname or alias.name}"] = inner if inner in MODULES else home
    return found


def resolve(name: str) -> str | None:
    name = exports().get(name, name)
    return name if name in MODULES else None


def chain(node: ast.expr) -> list[str]:
    """Return the names of `rewards.parts.x`, or nothing for another expression."""
    if isinstance(node, ast.Attribute) and (inner := chain(node.value)):
        return [*inner, node.attr]
    return [node.id] if isinstance(node, ast.Name) else []


def imports(module: str) -> set[str]:
    """Return the modules that a module imports, or reaches as attributes of an imported package."""
    tree, found, local = ast.parse(MODULES[module].read_text()), set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == LIBRARY:
            package = (node.module or "").removeprefix(LIBRARY).removeprefix(".")
            for alias in node.names:
                inner = ".".join(part for part in (package, alias.name) if part)
                target = resolve(inner) or package
                found.add(target)
                local[alias.asname or alias.name] = target if target == inner else ""
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix(f"{LIBRARY}.") for alias in node.names if alias.name.startswith(LIBRARY)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (names := chain(node)) and local.get(names[0]):
            found.add(resolve(".".join([local[names[0]], *names[1:]])) or "")
    return found & MODULES.keys() - {module}


@cache
def importers() -> dict[str, set[str]]:
    """Map a module to those that import it, and a world or tool also to papers that name it in their page."""
    found = defaultdict(set)
    for module in MODULES:
        for target in imports(module):
            found[target].add(module)
    for paper in PAPERS:
        page = tomllib.loads((HOME / "papers" / paper / "paper.toml").read_text())
        for method in (page, *page.get("methods", ())):
            named = [f"worlds.{method.get('world', 'gym').split()[0]}"]
            named += [f"tools.{tool}" for tool in method.get("settings", {}).get("tools", ())]
            for target in filter(None, map(resolve, named)):
                found[target].add(f"papers.{paper}")
    return found


def has_role(module: str) -> bool:
    return any(module.startswith(f"{role}.") for role in ROLES)


def is_kept(module: str) -> bool:
    source = MODULES[module].read_text()
    return re.search(r"^ *Kept: ", source, re.MULTILINE) is not None or '\nif __name__ == "__main__":' in source


def users(module: str, seen: set[str] | None = None) -> set[str]:
    """Return the papers that use a module, and `LIBRARY` for everybody else, through modules of roles."""
    seen = {module} if seen is None else seen
    found = {LIBRARY} if is_kept(module) else set()
    for other in importers()[module] - seen:
        seen.add(other)
        parts = other.split(".")
        if parts[0] == "papers" and len(parts) > 1:
            found.add(parts[1])
        elif has_role(other):
            found |= users(other, seen)
        elif other not in ROLES:
            found.add(LIBRARY)
    return found


def is_mechanism(module: str) -> bool:
    return has_role(module) and MODULES[module].name != "__init__.py"


def few_users() -> dict[str, list[str]]:
    """Return modules of roles without two papers or a part of the library as users, with their users."""
    counted = {module: users(module) for module in sorted(MODULES) if is_mechanism(module)}
    return {module: sorted(found) for module, found in counted.items() if LIBRARY not in found and len(found) < 2}


def test_modules_of_roles_have_several_users_or_a_kept_line():
    found = few_users()
    one = [f"{module}: move it to papers/{by[0]}" for module, by in found.items() if by]
    none = [f"{module}: no method uses it, delete it" for module, by in found.items() if not by]
    assert not one + none, "\n".join([*one, *none, "or add a line `Kept: WHY` to its docstring"])


def test_modules_of_several_users_are_outside_papers():
    wrong = []
    for paper in PAPERS:
        base = tomllib.loads((HOME / "papers" / paper / "paper.toml").read_text()).get("base", "").split()[:1]
        for module in MODULES:
            if module.split(".")[:2] == ["papers", paper]:
                for target in sorted(imports(module)):
                    home, _, rest = target.partition(".")
                    if home == "papers" and rest and (owner := rest.split(".")[0]) not in (paper, *base):
                        wrong.append(f"{module} imports {target}: move it out of papers/{owner}")
    assert not wrong, "\n".join(wrong)
