"""Tests of docs/layout.md: paths exist, packages are complete, and the answers hold their symbols."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "layout.md").read_text(encoding="ascii")
ANSWERS = re.findall(r"^\| (.+\?) \| `(handaxe/[\w/]+\.py)` \| `(\w+)` \|$", PAGE, re.MULTILINE)
PACKAGES = re.findall(r"^\| `(handaxe/[\w/]+)` \| .+ \|$", PAGE, re.MULTILINE)
FOLDER_PER_METHOD = (ROOT / "handaxe" / "papers", ROOT / "handaxe" / "baselines")


def packages():
    """All packages of handaxe with modules, without the folders of single methods."""
    folders = {file.parent for file in (ROOT / "handaxe").rglob("*.py") if file.name != "__init__.py"}
    folders |= {folder.parent for folder in folders} | set(FOLDER_PER_METHOD)
    folders = {one for one in folders if (one / "__init__.py").exists() and one != ROOT / "handaxe"}
    return {str(one.relative_to(ROOT)) for one in folders if not set(FOLDER_PER_METHOD) & set(one.parents)}


def definitions(file):
    """Public names defined at the top level of a module."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_layout_names_only_existing_paths():
    paths = re.findall(r"`((?:handaxe|tests|docs)/[^`]+)`", PAGE)
    assert len(paths) >= 60 and not [path for path in paths if not (ROOT / path).exists()]


def test_layout_has_one_line_per_package():
    assert len(PACKAGES) == len(set(PACKAGES))
    assert set(PACKAGES) == packages()


def test_layout_answers_sixteen_questions():
    assert len(ANSWERS) == 16 and len({file for _, file, _ in ANSWERS}) == 16


@pytest.mark.parametrize(("file", "symbol"), [(file, symbol) for _, file, symbol in ANSWERS])
def test_file_of_an_answer_defines_its_symbol(file, symbol):
    assert symbol in definitions(ROOT / file)
