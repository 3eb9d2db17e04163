"""The list of papers: every number once, states by folder; a lookup ends in one title or one sentence."""

import tomllib

import pytest

from handaxe.core.errors import InputError
from handaxe.methods.paper import read_paper
from handaxe.methods.titles import HOME, find_title, list_titles

HEAD = "number\tshort\ttitle\tmechanism\tneeds\n"


def small(tmp_path, missing="missing = []"):
    """A package with a paper, and a list with one more."""
    folder = tmp_path / "papers" / "alpha"
    folder.mkdir(parents=True)
    (folder / "paper.toml").write_text(f'title = "On Alpha"\nshort = "Alpha"\narxiv = "1"\nnumber = 1\n{missing}\n')
    rows = "1\tAlpha (one)\tOn Alpha\t\t\n2\tBeta\tOn Beta\tb\ta world\n3\tBetamax\tOn tape\tc\ta mechanism\n"
    (tmp_path / "papers" / "titles.tsv").write_text(HEAD + rows)
    return tmp_path


def test_every_number_is_there_once_with_a_state():
    titles = [one for one in list_titles() if one.number is not None]
    assert [one.number for one in titles] == list(range(1, 229))
    assert all(one.title and one.short for one in titles)
    assert all(bool(one.mechanism and one.needs) == (one.state == "not here") for one in titles)
    assert {one.number: one.state for one in titles}[83] == "survey"


def test_the_state_follows_the_page(tmp_path):
    home = small(tmp_path)
    assert [one.state for one in list_titles(home)] == ["complete", "not here", "not here"]
    (home / "papers" / "alpha" / "paper.toml").write_text('title = "On Alpha"\nnumber = 1\nmissing = ["Its data."]\n')
    found = list_titles(home)[0]
    assert found.state == "in part" and found.paper == read_paper(home / "papers" / "alpha")


@pytest.mark.parametrize(
    "asked, number",
    [("1", 1), ("alpha", 1), ("Alpha (one)", 1), ("2", 2), ("beta", 2), ("betam", 3), ("tape", 3), ("On Beta", 2)],
)
def test_a_number_a_name_and_words_find_a_title(tmp_path, asked, number):
    assert find_title(asked, small(tmp_path)).number == number


@pytest.mark.parametrize(
    "asked, words",
    [
        ("on", "3 papers match 'on': 1 Alpha .one., 2 Beta, 3 Betamax; give a number"),
        ("bet", "2 papers match 'bet'"),
        ("betta", "no run and no paper is named 'betta'; did you mean beta"),
        ("9", "papers have numbers from 1 to 3"),
        ("", "no run and no paper"),
    ],
)
def test_no_title_or_several_are_one_sentence(tmp_path, asked, words):
    with pytest.raises(InputError, match=words):
        find_title(asked, small(tmp_path))


def test_every_paper_says_what_is_missing():
    """`missing = []` is a statement, so that a paper without the field counts as unread."""
    pages = sorted(HOME.glob("papers/*/paper.toml"))
    unread = [page.parent.name for page in pages if "missing" not in tomllib.loads(page.read_text())]
    assert len(pages) > 80 and unread == []
