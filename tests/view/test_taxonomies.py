"""Pages of surveys: the tree, the map and the table, on hand-worked divisions."""

from pathlib import Path

from handaxe.methods.taxonomy import HOME, Leaf, Taxonomy, list_taxonomies
from handaxe.view.taxonomies import map_page, survey_table, taxonomy_page

ROOT = HOME.parent
LEAVES = (
    Leaf(("A", "B"), ("handaxe.rewards",)),
    Leaf(("A", "C", "D"), ("handaxe.credit.gae",), note="turns"),
    Leaf(("A", "C", "E"), missing="nobody wrote it"),
    Leaf(("F",), ("handaxe.rewards",)),
)
SURVEY = Taxonomy(HOME / "papers" / "x", "Title", "Short", "1234.5", 7, "About.", "abstract", LEAVES)


def test_tree_writes_common_beginnings_once():
    lines = taxonomy_page(SURVEY, ROOT).splitlines()
    assert lines[lines.index("## Division") + 2 :][:6] == [
        "- **A**",
        "  - B: [`rewards`](../../rewards)",
        "  - **C**",
        "    - D: [`credit.gae`](../../credit/gae.py) (turns)",
        "    - E: not here: nobody wrote it",
        "- F: [`rewards`](../../rewards)",
    ]
    assert "Of its 4 leaves 3 have modules here." in "\n".join(lines)


def test_map_joins_surveys_by_module_and_lists_what_is_missing():
    other = SURVEY._replace(short="Other", leaves=LEAVES[:1])
    text = map_page([SURVEY, other], ROOT)
    assert "How 2 surveys divide the field, and where each leaf stands in handaxe: 4 of 5 leaves" in text
    assert "| [`rewards`](../handaxe/rewards) | Short: A / B; Short: F; Other: A / B |" in text
    assert text.index("## Rewards") < text.index("## Credit") < text.index("## Not here")
    assert "| Short | A / C / E | nobody wrote it |" in text


def test_links_of_the_shipped_pages_lead_to_files():
    for one in list_taxonomies():
        for target in taxonomy_page(one, ROOT).split("](")[1:]:
            link = target.partition(")")[0]
            assert link.startswith("https://") or (one.folder / link).exists(), link
    for target in map_page(list_taxonomies(), ROOT).split("](")[1:]:
        link = target.partition(")")[0]
        assert link.startswith("https://") or (ROOT / "docs" / link).exists(), link


def test_table_is_empty_without_surveys():
    assert survey_table([], Path(".")) == "" and survey_table([SURVEY], ROOT).count("\n|") == 3
