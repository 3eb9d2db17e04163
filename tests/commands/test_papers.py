import shutil
from pathlib import Path

import pytest

import handaxe
from handaxe.cli import main
from handaxe.commands.papers import page

RECIPE = '''"""One."""
from handaxe.recipes.paper import Claim, Paper
PAPER = Paper(title="A title", short="ABC", arxiv="2101.00001", number=3)
CLAIM = Claim(statement="It gets better.", metric="pass@1", direction="up", baseline="start")
def first(*, steps: int = 1) -> dict:
    """Train it."""
    return {}
'''


@pytest.fixture
def checkout(tmp_path):
    for folder in ("handaxe/recipes", "handaxe/rewards", "tests/rewards"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "handaxe/recipes/first.py").write_text(RECIPE)
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
    claim = RECIPE.replace('baseline="start"', 'baseline="grpo", same="calls"')
    (checkout / "handaxe/recipes/first.py").write_text(claim)
    assert "| pass@1 up and calls stays, against grpo |" in page(checkout)


def test_a_measured_result_is_on_the_page(checkout, finished):
    assert "not measured" in page(checkout)
    (checkout / "results").mkdir()
    shutil.copy(finished.parent / "result.json", checkout / "results" / "first.json")
    text = page(checkout)
    assert "handaxe train otc --model" in text and "(2 steps," in text and "pass@1 0.000" in text


def test_somewhere_else_is_no_checkout(tmp_path, capsys):
    assert main(["papers", "--root", str(tmp_path)]) == 2
    assert "not a checkout" in capsys.readouterr().err


def test_this_checkout_has_a_page():
    assert page(Path(handaxe.__file__).parents[1]).startswith("# Papers")
