"""Taxonomies of surveys: every leaf names modules that exist, or a reason; damaged pages end in one sentence."""

import pytest

from handaxe.core.errors import InputError
from handaxe.methods.taxonomy import HOME, Leaf, list_taxonomies, read_taxonomy, source_of

HEAD = 'title = "T"\nshort = "S"\narxiv = "1"\nnumber = 5\nabout = "A"\nread = "abstract"\n'
SURVEYS = (22, 40, 47, 83, 141, 148, 158, 167, 168, 169, 194)


def page(tmp_path, leaves, head=HEAD):
    file = tmp_path / "taxonomy.toml"
    file.write_text(f"{head}leaves = [{leaves}]\n")
    return file


def test_every_survey_is_here_and_every_target_exists():
    """Reading fails for a module that does not exist, so that a moved file is noticed."""
    found = list_taxonomies()
    assert tuple(one.number for one in found) == SURVEYS
    for one in found:
        assert all(source_of(module).is_relative_to(HOME) for leaf in one.leaves for module in leaf.here)
        assert any(leaf.here for leaf in one.leaves) and len(one.leaves) >= 9


def test_leaves_are_read_with_their_paths(tmp_path):
    leaves = '{path = "A / B", here = ["handaxe.rewards", "handaxe.credit.gae"]}, '
    leaves += '{path = "A / C", missing = "x", note = "y"}'
    found = read_taxonomy(page(tmp_path, leaves)).leaves
    assert found == (
        Leaf(("A", "B"), ("handaxe.rewards", "handaxe.credit.gae")),
        Leaf(("A", "C"), missing="x", note="y"),
    )


@pytest.mark.parametrize(
    "leaves, words",
    [
        ('{path = "A"}', "needs modules in here, or a reason in missing"),
        ('{path = "A", here = ["handaxe.rewards"], missing = "x"}', "and not both"),
        ('{path = "A", here = ["handaxe.nosuch"]}', "names 'handaxe.nosuch', and there is no such module"),
        ('{path = "A", here = ["os"]}', "there is no such module"),
        ('{path = "A / ", missing = "x"}', "has no path"),
        ('{missing = "x"}', "has no path"),
        ('{path = "A", missing = "x", why = "y"}', "unknown fields why"),
        ('{path = "A", missing = "x"}, {path = "A", missing = "y"}', "two leaves are named 'A'"),
        ("{path = ", "taxonomy.toml"),
    ],
)
def test_damaged_pages_are_one_sentence(tmp_path, leaves, words):
    with pytest.raises(InputError, match=words):
        read_taxonomy(page(tmp_path, leaves))


def test_missing_and_unknown_fields_are_named(tmp_path):
    with pytest.raises(InputError, match="the fields read, year are missing or unknown"):
        read_taxonomy(page(tmp_path, "", head=HEAD.replace('read = "abstract"', "year = 3")))
