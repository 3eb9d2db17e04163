from pathlib import Path

import pytest

import handaxe
from handaxe.core.errors import InputError
from handaxe.view.filled_tables import filled, listed_in

ROOT = Path(handaxe.__file__).parents[1]

FILE = '''"""About it."""


def twice(*, reward, limit=3):
    """Give a reward twice, a | b,
    once more.

    Paper: arXiv:2101.00001.
    """
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rewards").mkdir()
    (tmp_path / "rewards" / "twice.py").write_text(FILE)
    return tmp_path


def claims(name):
    return {"often": [("calls | up", "**holds**"), ("pass@1 up", "not replicated yet")]}[name]


def test_a_block_is_filled_and_filled_again_it_is_the_same(folder):
    page = "# Page\n\n<!-- rewards: twice -->\n<!-- end -->\n\nMore.\n"
    once = filled(page, folder, claims)
    link = "[2101.00001](https://arxiv.org/abs/2101.00001)"
    assert f"| `twice(reward, limit)` | Give a reward twice, a \\| b, once more. | {link} |" in once
    assert once.startswith("# Page\n\n<!-- rewards: twice -->") and once.endswith("<!-- end -->\n\nMore.\n")
    assert filled(once, folder, claims) == once


def test_verdicts_are_a_line_a_claim(folder):
    page = filled("<!-- verdicts: often -->\n<!-- end -->\n", folder, claims)
    assert "| `often` | calls \\| up | **holds** |\n| `often` | pass@1 up | not replicated yet |" in page
    assert filled(page, folder, claims) == page


def test_a_name_without_a_file(folder):
    with pytest.raises(InputError, match="'thrice'.*has no function of that name"):
        filled("<!-- rewards: thrice -->\n<!-- end -->", folder, claims)


@pytest.mark.parametrize("page, kind", [("rewards", "rewards"), ("credit", "credit")])
def test_every_mechanism_stands_once_on_its_page(page, kind):
    names = listed_in((ROOT / "docs" / f"{page}.md").read_text(), kind)
    files = (ROOT / "handaxe" / kind).glob("*.py")
    assert sorted(names) == sorted(file.stem for file in files if file.stem != "__init__")
