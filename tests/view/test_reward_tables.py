from pathlib import Path

import pytest

import handaxe
from handaxe.errors import InputError
from handaxe.view.reward_tables import filled, listed_in

ROOT = Path(handaxe.__file__).parents[1]
REWARDS = ROOT / "handaxe" / "rewards"

FILE = '''"""About it."""


def twice(*, reward, limit=3):
    """Give a reward twice, a | b,
    once more.

    Paper: arXiv:2101.00001.
    """
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "twice.py").write_text(FILE)
    return tmp_path


def test_a_block_is_filled_and_filled_again_it_is_the_same(folder):
    page = "# Page\n\n<!-- rewards: twice -->\n<!-- end -->\n\nMore.\n"
    once = filled(page, folder)
    link = "[2101.00001](https://arxiv.org/abs/2101.00001)"
    assert f"| `twice(reward, limit)` | Give a reward twice, a \\| b, once more. | {link} |" in once
    assert once.startswith("# Page\n\n<!-- rewards: twice -->") and once.endswith("<!-- end -->\n\nMore.\n")
    assert filled(once, folder) == once


def test_a_name_without_a_file(folder):
    with pytest.raises(InputError, match="'thrice'.*has no function of that name"):
        filled("<!-- rewards: thrice -->\n<!-- end -->", folder)


def test_every_reward_stands_once_on_the_page():
    names = listed_in((ROOT / "docs" / "rewards.md").read_text())
    assert sorted(names) == sorted(file.stem for file in REWARDS.glob("*.py") if file.stem != "__init__")
