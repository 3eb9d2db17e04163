"""Tables of roles, of papers' mechanisms and of verdicts, and the markers of pages."""

from pathlib import Path

import pytest

import handaxe
from handaxe.commands.papers import read_entries
from handaxe.core.errors import InputError
from handaxe.core.import_string import exports
from handaxe.view.role_tables import expand_markers, paper_table, role_claims_table, role_table

ROOT = Path(handaxe.__file__).parents[1]


@pytest.fixture(scope="module")
def entries():
    return read_entries(ROOT)[0]


@pytest.mark.parametrize("role", ["advantages", "credit", "judges", "losses.terms", "rewards", "selection"])
def test_role_table_has_a_row_for_each_export(role):
    rows = role_table(role).split("\n")[2:]
    assert [row.partition("(")[0].removeprefix("| `") for row in rows] == exports(f"handaxe.{role}")


def test_a_row_has_options_summary_and_paper():
    row = next(row for row in role_table("rewards").split("\n") if row.startswith("| `overlong("))
    assert row.startswith("| `overlong(limit, cache)` | Give 0 to short rollouts, -1 beyond the limit")
    assert row.endswith("| [2503.14476](https://arxiv.org/abs/2503.14476) |")


def test_paper_table_has_mechanisms_of_papers_only():
    table = paper_table("Credit")
    assert "| `min_form_return(" in table and "| `group_norm(" not in table


def test_verdict_table_lists_claims_of_methods_with_a_mechanism_of_the_role(entries):
    table = role_claims_table(["credit"], entries)
    (row,) = [row for row in table.split("\n") if row.startswith("| `dr_grpo`")]
    assert "| `group_norm` | tokens down" in row and "**holds**: -1.168 [-2.132, -0.204]" in row
    assert "`min_form_return`" in table and "| `chartmaster`" not in table


def test_markers_become_tables(entries):
    page = expand_markers("a\n<!-- table: credit -->\nb <!-- verdicts: credit -->\n<!-- papers: Judge -->", entries)
    assert "<!--" not in page and page.startswith("a\n| mechanism | summary | paper |")
    assert "| method | mechanisms | claim | verdict |" in page and "`utterance_critic(" in page


def test_pages_of_roles_hold_markers():
    docs = ROOT / "docs"
    assert "<!-- table: rewards -->" in (docs / "rewards.md").read_text()
    assert "<!-- verdicts: credit advantages -->" in (docs / "credit.md").read_text()


def test_a_package_without_a_stub_is_an_error():
    with pytest.raises(InputError, match="handaxe.commands has no __init__.pyi"):
        role_table("commands")
