import json
from pathlib import Path

import pytest

import handaxe
from handaxe.cli import main
from handaxe.commands.papers import page

RECIPE = '''"""One."""
from handaxe.methods.method import Claim, Paper, Recipe
RECIPE = Recipe(
    paper=Paper(title="A title", short="ABC", arxiv="2101.00001", number=3),
    claims=(Claim("It gets better.", "pass@1", "up", baseline="start"),),
)
def first(base, *, knob: int = 1):
    """Train it."""
    return base
'''

STUDY = '''"""Another."""
from handaxe.methods.study import Bound, Paper, Study
STUDY = Study(
    paper=Paper("Another title", "CDE", "2101.00002", 4), bounds=(Bound("It is small.", "size", most=1.0),)
)
def computed(*, knob: int = 1):
    """Compute it."""
    return dict
'''


@pytest.fixture
def checkout(tmp_path):
    for folder in ("handaxe/recipes/base", "handaxe/rewards", "tests/rewards"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "handaxe/recipes/base/first.py").write_text(RECIPE)
    (tmp_path / "handaxe/rewards/more.py").write_text('"""Paper: arXiv:2101.00001, equation 1."""\n')
    (tmp_path / "tests/rewards/test_more.py").touch()
    return tmp_path


def test_write_then_check_then_stale(checkout, capsys):
    root = str(checkout)
    assert main(["papers", "--check", "--root", root]) == 1
    assert main(["papers", "--root", root]) == 0
    assert main(["papers", "--check", "--root", root]) == 0
    assert "tests/rewards/test_more.py" in (checkout / "PAPERS.md").read_text()
    capsys.readouterr()
    (checkout / "handaxe/rewards/other.py").write_text('"""Paper: arXiv:2101.00001."""\n')
    assert main(["papers", "--check", "--root", root]) == 1
    shown = capsys.readouterr().err
    assert "stale" in shown and "other.py" in shown


def test_what_must_stay_comes_from_the_claim(checkout):
    claim = RECIPE.replace('baseline="start"', 'same="calls"')
    (checkout / "handaxe/recipes/base/first.py").write_text(claim)
    assert "| pass@1 up and calls stays within 0.05, against plain |" in page(checkout)


def test_a_study_stands_after_the_recipes(checkout):
    (checkout / "handaxe/recipes/base/computed.py").write_text(STUDY)
    (checkout / "handaxe/rewards/other.py").write_text('"""Paper: arXiv:2101.00002."""\n')
    text = page(checkout)
    section = text[text.index("## CDE: Another") :]
    assert "[computed](handaxe/recipes/base/computed.py), computed by `handaxe study computed`" in section
    assert "- Decided by it: It is small. (size at most 1)" in section and "handaxe/rewards/other.py" in section
    assert "without a recipe of their own" not in text and text.index("## ABC") < text.index("## CDE")
    verdict = {"statement": "It is small.", "bound": "size at most 1", "verdict": "does not hold"}
    (checkout / "results").mkdir(exist_ok=True)
    found = {"study": "computed", "seed": 3, "figures": {"size": 2.0, "steps": 13.0}, "verdicts": [verdict]}
    (checkout / "results/computed.json").write_text(json.dumps(found))
    text = page(checkout)
    assert "- Decided by it: It is small. (size at most 1): **does not hold**\n" in text
    assert "- Figures: size 2, steps 13, by `handaxe study computed --json results/computed.json`, seed 3\n" in text


def test_somewhere_else_is_no_checkout(tmp_path, capsys):
    assert main(["papers", "--root", str(tmp_path)]) == 2
    assert "not a checkout" in capsys.readouterr().err


def test_this_checkout_has_a_page():
    assert page(Path(handaxe.__file__).parents[1]).startswith("# Papers")
