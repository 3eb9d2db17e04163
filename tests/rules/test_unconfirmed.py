"""What was built after a guessed formula says so, wherever it is read.

Each paper below is known here without its formulas: from its abstract, from summaries, or from memory. Whoever reads a
mechanism, a recipe or PAPERS.md must see that the formula is handaxe's own and not the paper's. An id leaves this
list when somebody has read the formula.
"""

import ast
import re
from pathlib import Path

import pytest

from handaxe.commands.papers import page
from handaxe.methods.catalog import find_recipes

ROOT = Path(__file__).parents[2]
GUESSED = {
    "2510.26020": "PORTool",
    "2509.24107": "Fathom-DeepResearch",
    "2507.23317": "TP-GRPO",
    "2509.25598": "PPR",
    "2509.01684": "RL for machine learning engineering agents",
    "2409.12798": "CALM",
    "2508.04416": "VITAL, its DGRPO",
    "2509.21842": "DeepTravel",
    "2512.20745": "AgentMath",
    "2512.24873": "ROME, its rollouts that begin in a chunk",
    "2601.03555": "SCRIBE",
}
ONLY_IN = {"2512.24873": ("rollouts", "selection")}
"""Where of a paper one part alone is a guess: the folders of mechanisms for that part; the rest was read."""
PAGES = ("recipes", "view", "commands")
"""Folders that hold no mechanism; recipes are asked for apart."""


def _docstrings(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def silent_mechanisms(package, guessed=GUESSED, only_in=ONLY_IN):
    """Files of which a docstring cites a paper of the list and does not say that it is unconfirmed."""
    found = []
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package)
        if inside.parts[0] in PAGES:
            continue
        asked = {arxiv for arxiv in guessed if inside.parts[0] in only_in.get(arxiv, inside.parts)}
        cites = any(arxiv in file.read_text() for arxiv in asked)
        for text in _docstrings(file) if cites else ():
            if asked & set(re.findall(r"\d{4}\.\d{4,5}", text)) and "Unconfirmed:" not in text:
                found.append(inside.as_posix())
    return found


def silent_recipes(package, guessed=GUESSED):
    """Recipes of a paper of the list whose function does not say what of it is unconfirmed."""
    found = []
    for one in find_recipes(package):
        if one.paper is not None and one.paper.arxiv in guessed:
            functions = [n for n in ast.parse(one.file.read_text()).body if getattr(n, "name", "") == one.name]
            if not functions or "Unconfirmed:" not in (ast.get_docstring(functions[0]) or ""):
                found.append(one.name)
    return found


def unrepeated(text, package, guessed=GUESSED, only_in=ONLY_IN):
    """(recipe, file) of papers of the list where PAPERS.md does not name the file as unconfirmed."""
    found = []
    sections = text.split("\n## ")
    for one in find_recipes(package):
        if one.paper is None or one.paper.arxiv not in guessed:
            continue
        files = [one.file.relative_to(package.parent).as_posix()]
        for file in sorted(package.rglob("*.py")):
            inside = file.relative_to(package)
            asked = inside.parts[0] not in PAGES and inside.parts[0] in only_in.get(one.paper.arxiv, inside.parts)
            if asked and f"arXiv:{one.paper.arxiv}" in file.read_text():
                files.append(file.relative_to(package.parent).as_posix())
        own = next(part for part in sections if f"`handaxe train {one.name}`" in part)
        said = next((line for line in own.splitlines() if line.startswith("- Unconfirmed in parts")), "")
        found += [(one.name, file) for file in files if f"({file})" not in said]
    return found


def test_mechanisms_of_guessed_formulas_say_so():
    assert silent_mechanisms(ROOT / "handaxe") == []


def test_recipes_of_guessed_formulas_say_so():
    assert silent_recipes(ROOT / "handaxe") == []


def test_the_page_repeats_it():
    assert unrepeated(page(ROOT), ROOT / "handaxe") == []


RECIPE = '''"""One."""
from handaxe.methods.method import Claim, Paper, Recipe
RECIPE = Recipe(
    paper=Paper(title="A title", short="ABC", arxiv="2101.00001", number=3),
    claims=(Claim("It gets better.", "pass@1", "up", baseline="start"),),
)
def first(base):
    """Train it.{said}"""
    return base
'''


@pytest.mark.parametrize("said", [True, False])
def test_the_rule_sees_who_is_silent(tmp_path, said):
    package, line = tmp_path / "handaxe", "\n    Unconfirmed: all of it." if said else ""
    for folder in ("recipes/base", "rewards", "credit"):
        (package / folder).mkdir(parents=True)
    (package / "recipes/base/first.py").write_text(RECIPE.replace("{said}", line))
    mechanism = f'def more():\n    """Pay.\n\n    Paper: arXiv:2101.00001.{line}\n    """\n'
    (package / "rewards/more.py").write_text(mechanism)
    (package / "credit/read.py").write_text('"""Paper: arXiv:2101.00001, which was read for this part."""\n')
    only = {"2101.00001": "rewards"}
    assert silent_mechanisms(package, only, only) == ([] if said else ["rewards/more.py"])
    assert silent_mechanisms(package, only, {}) == ["credit/read.py"] + ([] if said else ["rewards/more.py"])
    assert silent_recipes(package, only) == ([] if said else ["first"])
    both = [("first", "handaxe/recipes/base/first.py"), ("first", "handaxe/rewards/more.py")]
    assert unrepeated(page(tmp_path), package, only, only) == ([] if said else both)
